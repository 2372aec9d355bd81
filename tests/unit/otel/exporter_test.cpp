#include "shared/otel/exporter.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <thread>

#include "shared/json/value.h"
#include "shared/net/server.h"
#include "shared/otel/proto.h"
#include "tests/support/eventually.h"
#include "tests/support/fake_clock.h"

namespace nobs::otel {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;
using test::eventually;

constexpr auto kSoon = 5s;

std::string gunzip(const std::string& bytes) {
  z_stream stream{};
  std::string out(1U << 20, '\0');
  if (::inflateInit2(&stream, 15 + 16) != Z_OK) return {};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = ::inflate(&stream, Z_FINISH);
  out.resize(out.size() - stream.avail_out);
  ::inflateEnd(&stream);
  return result == Z_STREAM_END ? out : std::string();
}

// A collector that answers as the test says, and remembers what it got.
class Collector {
 public:
  Collector()
      : server_({.threads = 2, .max_body = 8U << 20},
                [this](const net::Request& request) { return take(request); }) {
    REQUIRE(server_.start());
  }

  // The answer to the next request that has none yet; when none is left, 200.
  void answer(net::Answer next) {
    const std::lock_guard lock(mutex_);
    answers_.push_back(std::move(next));
  }
  int count() const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(requests_.size());
  }
  net::Request request(int number) const {
    const std::lock_guard lock(mutex_);
    return requests_.at(static_cast<size_t>(number));
  }
  Options options() const {
    Options options{.protocol = Protocol::Json, .gzip = false};
    options.endpoint = {.host = "127.0.0.1", .port = server_.port(), .path = "/v1/metrics"};
    return options;
  }
  void stop() { server_.stop(); }

 private:
  net::Answer take(const net::Request& request) {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
    if (answers_.empty()) return {200, {}, ""};
    auto next = std::move(answers_.front());
    answers_.pop_front();
    return next;
  }

  mutable std::mutex mutex_;
  std::deque<net::Answer> answers_;
  std::vector<net::Request> requests_;
  net::Server server_;
};

// An exporter that runs, of one counter that rises with each collection.
struct Running {
  explicit Running(Options options)
      : logger({.component = "test",
                .sink =
                    [this](std::string_view line) {
                      const std::lock_guard lock(mutex);
                      lines.emplace_back(line);
                    }}),
        exporter(
            std::move(options), [this] { return families(); }, clock, logger, registry,
            [] { return 0.0; }),
        thread([this](const std::stop_token& stop) {
          exporter.run(stop);
          has_ended = true;
        }) {}

  std::vector<metrics::Family> families() {
    const double value = ++collections;
    return {{.name = "c", .type = metrics::Type::Counter, .points = {{{}, value}}},
            {.name = "g", .label_names = {"l"}, .points = {{{"a"}, 1}, {{"b"}, 2}}}};
  }
  // Moves the clock by `time` once the exporter waits for it.
  void pass(std::chrono::nanoseconds time) {
    REQUIRE(eventually(kSoon, [&] { return clock.waiting() == 1; }));
    clock.advance(time);
  }
  bool shows(const std::string& line) const {
    return registry.text().find(line + "\n") != std::string::npos;
  }
  size_t logged(std::string_view text) const {
    const std::lock_guard lock(mutex);
    size_t count = 0;
    for (const auto& line : lines) count += line.find(text) != std::string::npos ? 1 : 0;
    return count;
  }
  // How long the exporter took to end.
  milliseconds stop() {
    const auto start = std::chrono::steady_clock::now();
    thread.request_stop();
    thread.join();
    return std::chrono::ceil<milliseconds>(std::chrono::steady_clock::now() - start);
  }

  mutable std::mutex mutex;
  std::vector<std::string> lines;
  test::FakeClock clock;
  log::Logger logger;
  metrics::Registry registry;
  std::atomic<int> collections = 0;
  std::atomic<bool> has_ended = false;
  Exporter exporter;
  std::jthread thread;
};

// The counter's value in a JSON request.
double counted(const net::Request& request) {
  const auto body = json::parse(request.body);
  REQUIRE(body);
  const auto& metrics = (*body)["resourceMetrics"].items().at(0)["scopeMetrics"].items().at(0);
  const auto& metric = metrics["metrics"].items().at(0);
  return metric["sum"]["dataPoints"].items().at(0)["asDouble"].if_double().value_or(-1);
}

TEST_CASE("every interval the families are pushed, as the options say") {
  Collector collector;
  auto options = collector.options();
  options.protocol = Protocol::Protobuf;
  options.gzip = true;
  options.headers = {{"authorization", "Bearer secret"}};
  Running running(options);
  running.pass(59s);
  CHECK(running.collections == 0);
  running.pass(1s);
  REQUIRE(eventually(kSoon, [&] { return collector.count() == 1; }));
  const auto request = collector.request(0);
  CHECK(request.method == "POST");
  CHECK(request.target == "/v1/metrics");
  const auto has = [&](const char* name, const char* value) {
    const auto* found = request.headers.find(name);
    return found != nullptr && *found == value;
  };
  CHECK(has("Content-Type", "application/x-protobuf"));
  CHECK(has("Content-Encoding", "gzip"));
  CHECK(has("Authorization", "Bearer secret"));
  const auto body = gunzip(request.body);
  proto::Reader fields(body);
  const auto resource_metrics = fields.next();
  REQUIRE(resource_metrics);
  CHECK(resource_metrics->number == 1);
  CHECK_FALSE(fields.next());
  running.pass(60s);
  REQUIRE(eventually(kSoon, [&] { return collector.count() == 2; }));
  const std::string points = "neuron_observer_otlp_points_total{result=\"sent\"} 6";
  CHECK(eventually(kSoon, [&] { return running.shows(points); }));
  CHECK(running.shows("neuron_observer_otlp_exports_total{result=\"sent\"} 2"));
  CHECK(running.shows("neuron_observer_otlp_queue_batches 0"));
  CHECK(running.shows("neuron_observer_otlp_last_success_timestamp_seconds 1796040120"));
  CHECK(running.logged("secret") == 0);
}

TEST_CASE("plain JSON when asked for") {
  Collector collector;
  Running running(collector.options());
  running.pass(60s);
  REQUIRE(eventually(kSoon, [&] { return collector.count() == 1; }));
  CHECK(*collector.request(0).headers.find("Content-Type") == "application/json");
  CHECK(collector.request(0).headers.find("Content-Encoding") == nullptr);
  CHECK(counted(collector.request(0)) == 1);
}

TEST_CASE("without an endpoint the exporter ends at once and asks for nothing") {
  Running running(Options{});
  CHECK(eventually(kSoon, [&] { return running.has_ended.load(); }));
  CHECK(running.collections == 0);
}

TEST_CASE(
    "a busy collector gets the same batch again, not before it asked, and one line is logged") {
  Collector collector;
  net::Answer busy{503, {}, ""};
  busy.headers.set("Retry-After", "20");
  collector.answer(busy);
  collector.answer({429, {}, ""});
  Running running(collector.options());
  running.pass(60s);
  REQUIRE(eventually(kSoon, [&] { return collector.count() == 1; }));
  running.pass(19'999ms);
  REQUIRE(eventually(kSoon, [&] { return running.clock.waiting() == 1; }));
  CHECK(collector.count() == 1);
  running.pass(1ms);
  REQUIRE(eventually(kSoon, [&] { return collector.count() == 2; }));
  running.pass(2s);  // the second delay of the backoff
  REQUIRE(eventually(kSoon, [&] { return collector.count() == 3; }));
  CHECK(collector.request(2).body == collector.request(0).body);
  CHECK(eventually(kSoon, [&] { return running.logged("metrics push works again") == 1; }));
  CHECK(running.logged("metrics push fails") == 1);
  CHECK(running.logged("HTTP status 503") == 1);
  CHECK(running.shows("neuron_observer_otlp_exports_total{result=\"retried\"} 2"));
  CHECK(running.collections == 1);
}

TEST_CASE("a Retry-After date is honoured too") {
  Collector collector;
  net::Answer busy{503, {}, ""};
  busy.headers.set("Retry-After", "Mon, 30 Nov 2026 12:01:30 GMT");  // 30 s after the first push
  collector.answer(busy);
  Running running(collector.options());
  running.pass(60s);
  REQUIRE(eventually(kSoon, [&] { return collector.count() == 1; }));
  running.pass(29s);
  REQUIRE(eventually(kSoon, [&] { return running.clock.waiting() == 1; }));
  CHECK(collector.count() == 1);
  running.pass(1s);
  CHECK(eventually(kSoon, [&] { return collector.count() == 2; }));
}

TEST_CASE("a refused batch is dropped and counted, the next one is tried") {
  Collector collector;
  collector.answer({400, {}, "<html>nonsense</html>"});
  Running running(collector.options());
  running.pass(60s);
  REQUIRE(eventually(kSoon, [&] { return collector.count() == 1; }));
  running.pass(60s);
  REQUIRE(eventually(kSoon, [&] { return collector.count() == 2; }));
  CHECK(counted(collector.request(1)) == 2);
  CHECK(eventually(kSoon, [&] {
    return running.shows("neuron_observer_otlp_points_total{result=\"sent\"} 3");
  }));
  CHECK(running.shows("neuron_observer_otlp_points_total{result=\"dropped\"} 3"));
  CHECK(running.shows("neuron_observer_otlp_exports_total{result=\"dropped\"} 1"));
}

TEST_CASE("points that the collector rejects are counted, told once, and not sent again") {
  Collector collector;
  net::Answer partial{
      200, {}, R"({"partialSuccess":{"rejectedDataPoints":"2","errorMessage":"too old"}})"};
  partial.headers.set("Content-Type", "application/json");
  collector.answer(partial);
  collector.answer(partial);
  Running running(collector.options());
  for (int i = 1; i <= 2; ++i) {
    running.pass(60s);
    REQUIRE(eventually(kSoon, [&] { return collector.count() == i; }));
  }
  CHECK(eventually(kSoon, [&] {
    return running.shows("neuron_observer_otlp_points_total{result=\"rejected\"} 4");
  }));
  CHECK(eventually(kSoon, [&] {
    return running.shows("neuron_observer_otlp_points_total{result=\"sent\"} 2");
  }));
  CHECK(running.logged("collector rejects points") == 1);
  CHECK(running.logged("too old") == 1);
}

TEST_CASE("totals that wait are replaced by newer ones; deltas are kept, eight of them") {
  for (const auto temporality : {Temporality::Cumulative, Temporality::Delta}) {
    Collector collector;
    net::Answer busy{503, {}, ""};
    busy.headers.set("Retry-After", "300");
    auto options = collector.options();
    options.temporality = temporality;
    options.interval = 10s;
    collector.answer(busy);
    Running running(options);
    for (int i = 1; i <= 13; ++i) {
      running.pass(10s);
      REQUIRE(eventually(kSoon, [&] { return running.collections == i; }));
    }
    REQUIRE(eventually(kSoon, [&] { return running.clock.waiting() == 1; }));
    CHECK(collector.count() == 1);
    const bool is_delta = temporality == Temporality::Delta;
    CHECK(running.shows(is_delta ? "neuron_observer_otlp_queue_batches 8"
                                 : "neuron_observer_otlp_queue_batches 1"));
    // Three points in each batch but the first of the deltas, which is only the gauge's two.
    CHECK(running.shows(is_delta ? "neuron_observer_otlp_points_total{result=\"dropped\"} 14"
                                 : "neuron_observer_otlp_points_total{result=\"dropped\"} 36"));
    running.pass(300s);
    const int answered = is_delta ? 1 + 8 : 2;
    CHECK(eventually(kSoon, [&] { return collector.count() >= answered; }));
  }
}

// ---- collectors that misbehave

TEST_CASE("an answer that is cut, endless or no HTTP is counted, and the next push works") {
  std::atomic<size_t> written = 0;
  struct Broken {
    const char* name;
    std::function<net::Answer()> make;
    const char* result;
  };
  const std::vector<Broken> all = {
      {"closes without an answer",
       [] {
         return net::Answer{0, {}, ""};
       },
       "retried"},
      {"cuts the answer",
       [] {
         net::Answer answer{200, {}, ""};
         answer.stream = [](const net::Writer& write) { write("half"); };
         answer.cut = [] { return true; };
         return answer;
       },
       "retried"},
      {"never ends",
       [&written] {
         net::Answer answer{200, {}, ""};
         answer.stream = [&written](const net::Writer& write) {
           const std::string piece(16U << 10, 'x');
           while (write(piece)) written += piece.size();
         };
         return answer;
       },
       "dropped"},
  };
  for (const auto& broken : all) {
    CAPTURE(broken.name);
    Collector collector;
    collector.answer(broken.make());
    Running running(collector.options());
    running.pass(60s);
    const std::string line =
        std::string("neuron_observer_otlp_exports_total{result=\"") + broken.result + "\"} 1";
    REQUIRE(eventually(kSoon, [&] { return running.shows(line); }));
    running.pass(60s);
    CHECK(eventually(kSoon, [&] {
      return running.shows("neuron_observer_otlp_exports_total{result=\"sent\"} 1");
    }));
  }
  CHECK(written < 32U << 20);  // what we read, and what fits into the sockets' buffers
}

TEST_CASE("a collector that is not there is tried again, and the metrics say so") {
  Collector gone;
  auto options = gone.options();
  gone.stop();
  Running running(options);
  running.pass(60s);
  const std::string line = "neuron_observer_otlp_exports_total{result=\"retried\"} ";
  CHECK(eventually(kSoon, [&] { return running.shows(line + "1"); }));
  running.pass(1s);
  CHECK(eventually(kSoon, [&] { return running.shows(line + "2"); }));
  CHECK(running.logged("metrics push fails") == 1);
  CHECK(running.stop() < 1s);
  CHECK(running.collections == 1);  // no last try
}

TEST_CASE("a collector that answers TLS with something else is tried again") {
  Collector plain;
  auto options = plain.options();
  options.endpoint.https = true;
  options.timeout = 200ms;  // it may also say nothing
  Running running(options);
  running.pass(60s);
  CHECK(eventually(kSoon, [&] {
    return running.shows("neuron_observer_otlp_exports_total{result=\"retried\"} 1");
  }));
  CHECK(plain.count() == 0);
}

// Hangs until the server stops or the client is gone.
net::Answer hanging() {
  net::Answer answer{200, {}, ""};
  answer.stream = [](const net::Writer& write) {
    while (write("")) std::this_thread::sleep_for(10ms);
  };
  return answer;
}

TEST_CASE("a push that hangs ends with its timeout, and at once when stopped") {
  Collector collector;
  collector.answer(hanging());
  collector.answer(hanging());
  auto options = collector.options();
  options.timeout = 100ms;
  {
    Running running(options);
    running.pass(60s);
    CHECK(eventually(kSoon, [&] {
      return running.shows("neuron_observer_otlp_exports_total{result=\"retried\"} 1");
    }));
  }
  options.timeout = 60s;
  Running running(options);
  running.pass(60s);
  REQUIRE(eventually(kSoon, [&] { return collector.count() == 2; }));
  CHECK(running.stop() < 1s);
  CHECK(running.collections == 1);
}

TEST_CASE("when stopped, what was counted since the last push is pushed") {
  Collector collector;
  Running running(collector.options());
  running.pass(60s);
  REQUIRE(eventually(kSoon, [&] { return collector.count() == 1; }));
  REQUIRE(eventually(kSoon, [&] { return running.clock.waiting() == 1; }));
  running.stop();
  REQUIRE(collector.count() == 2);
  CHECK(counted(collector.request(1)) == 2);
}

TEST_CASE("the last push has two seconds, not more") {
  Collector collector;
  Running running(collector.options());
  running.pass(60s);
  REQUIRE(eventually(kSoon, [&] { return collector.count() == 1; }));
  REQUIRE(eventually(kSoon, [&] { return running.clock.waiting() == 1; }));
  collector.answer(hanging());
  const auto took = running.stop();
  CHECK(took >= 1'900ms);
  CHECK(took < 3s);
}

}  // namespace
}  // namespace nobs::otel
