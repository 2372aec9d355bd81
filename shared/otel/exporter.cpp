#include "shared/otel/exporter.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "shared/net/client.h"
#include "shared/otel/gzip.h"
#include "shared/otel/outcome.h"

namespace nobs::otel {
namespace {

using std::chrono::milliseconds;

constexpr size_t kMaxBatches = 8;
constexpr size_t kMaxQueueBytes = 8U << 20;
constexpr size_t kMaxAnswer = 64U << 10;
constexpr milliseconds kLastTry{2'000};

struct Batch {
  std::string body;
  bool is_gzip = false;
  size_t points = 0;
};

net::Endpoint endpoint_of(const Options& options) {
  net::Endpoint endpoint{.host = options.endpoint.host, .port = options.endpoint.port};
  if (options.endpoint.https) {
    endpoint.tls = net::Tls{.ca_file = options.ca_file,
                            .certificate_file = options.certificate_file,
                            .key_file = options.key_file};
  }
  return endpoint;
}

}  // namespace

struct Exporter::State {
  State(Options options_, Collect collect_, Clock& clock_, const log::Logger& logger_,
        metrics::Registry& registry, Random random)
      : options(std::move(options_)),
        collect(std::move(collect_)),
        clock(clock_),
        logger(logger_),
        exports(registry.counter("neuron_observer_otlp_exports_total",
                                 "Tries to push a batch, by result: sent, retried, dropped.",
                                 {"result"})),
        points(registry.counter("neuron_observer_otlp_points_total",
                                "Points by what became of them: sent, rejected by the collector, "
                                "dropped by us.",
                                {"result"})),
        waiting(registry.gauge("neuron_observer_otlp_queue_batches",
                               "Batches that wait to be pushed.")),
        last_success(registry.gauge("neuron_observer_otlp_last_success_timestamp_seconds",
                                    "When the collector last took a batch.")),
        client(endpoint_of(options), 1),
        series(options.temporality, clock.now()),
        backoff({.initial = milliseconds(1'000), .maximum = milliseconds(30'000)},
                std::move(random)) {}

  void gather();
  void pop(const char* result);
  Outcome push(milliseconds limit, const std::stop_token& stop);
  Outcome::Kind try_front(milliseconds limit, const std::stop_token& stop);
  void tell(const Outcome& outcome);
  void flush();

  const Options options;
  const Collect collect;
  Clock& clock;
  const log::Logger& logger;
  metrics::Counter& exports;
  metrics::Counter& points;
  metrics::Gauge& waiting;
  metrics::Gauge& last_success;
  net::Client client;
  Series series;
  Backoff backoff;
  std::deque<Batch> queue;
  size_t queue_bytes = 0;
  SteadyTime next_try;
  bool is_failing = false;  // as of the last answer: each change is logged once
  bool is_rejecting = false;
};

void Exporter::State::pop(const char* result) {
  points.add({result}, static_cast<double>(queue.front().points));
  queue_bytes -= queue.front().body.size();
  queue.pop_front();
  waiting.set(static_cast<double>(queue.size()));
}

// Asks for the families and queues what they encode to.
void Exporter::State::gather() {
  const auto now = clock.now();
  const auto timed = series.advance(collect(), now);
  if (options.temporality == Temporality::Cumulative) {
    while (!queue.empty()) pop("dropped");
  }
  const Frame frame{.protocol = options.protocol,
                    .resource = options.resource,
                    .scope_version = options.version,
                    .time = now};
  for (auto& request : encode(frame, timed)) {
    Batch batch{.points = request.points};
    if (options.gzip) batch.body = gzip(request.body);
    batch.is_gzip = !batch.body.empty();
    if (!batch.is_gzip) batch.body = std::move(request.body);
    queue_bytes += batch.body.size();
    queue.push_back(std::move(batch));
    while (queue.size() > kMaxBatches || (queue_bytes > kMaxQueueBytes && queue.size() > 1)) {
      pop("dropped");
    }
  }
  waiting.set(static_cast<double>(queue.size()));
}

Outcome Exporter::State::push(milliseconds limit, const std::stop_token& stop) {
  const Batch& batch = queue.front();
  net::Request request{.method = "POST", .target = options.endpoint.path};
  for (const auto& [name, value] : options.headers) request.headers.set(name, value);
  request.headers.set("Content-Type", options.protocol == Protocol::Json
                                          ? "application/json"
                                          : "application/x-protobuf");
  if (batch.is_gzip) request.headers.set("Content-Encoding", "gzip");
  request.body = batch.body;
  const net::Limits limits{
      .connect = std::min(limit, milliseconds(5'000)), .total = limit, .max_body = kMaxAnswer};
  return judge(client.send(request, limits, stop), clock.now());
}

// One try of the oldest batch: it is gone afterwards, unless it can be sent again.
Outcome::Kind Exporter::State::try_front(milliseconds limit, const std::stop_token& stop) {
  const Outcome outcome = push(limit, stop);
  const auto now = clock.now().time_since_epoch();
  switch (outcome.kind) {
    case Outcome::Kind::Sent: {
      const auto rejected = std::min<std::uint64_t>(outcome.rejected, queue.front().points);
      queue.front().points -= rejected;
      if (rejected > 0) points.add({"rejected"}, static_cast<double>(rejected));
      exports.add({"sent"});
      last_success.set(std::chrono::duration<double>(now).count());
      pop("sent");
      backoff.reset();
      next_try = clock.steady();
      break;
    }
    case Outcome::Kind::Drop:
      exports.add({"dropped"});
      pop("dropped");
      next_try = clock.steady() + backoff.next();
      break;
    case Outcome::Kind::Retry:
      exports.add({"retried"});
      next_try = clock.steady() + std::max(backoff.next(), outcome.wait.value_or(milliseconds(0)));
      break;
    case Outcome::Kind::Stopped:
      is_failing = true;  // it had not answered yet: no last try
      return outcome.kind;
  }
  tell(outcome);
  return outcome.kind;
}

void Exporter::State::tell(const Outcome& outcome) {
  const bool fails = outcome.kind != Outcome::Kind::Sent;
  if (fails && !is_failing) logger.warn("metrics push fails", {{"error", outcome.reason}});
  if (!fails && is_failing) logger.info("metrics push works again");
  is_failing = fails;
  if (fails) return;
  if (outcome.rejected > 0 && !is_rejecting) {
    logger.warn("collector rejects points", {{"error", outcome.reason}});
  }
  is_rejecting = outcome.rejected > 0;
}

void Exporter::State::flush() {
  if (is_failing) return;
  gather();
  const auto deadline = std::chrono::steady_clock::now() + kLastTry;
  const std::stop_source never;
  while (!queue.empty()) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left <= milliseconds(0)) return;
    if (try_front(std::min(left, options.timeout), never.get_token()) != Outcome::Kind::Sent)
      return;
  }
}

Exporter::Exporter(Options options, Collect collect, Clock& clock, const log::Logger& logger,
                   metrics::Registry& registry, Random random)
    : state_(std::make_unique<State>(std::move(options), std::move(collect), clock, logger,
                                     registry, std::move(random))) {}

Exporter::~Exporter() = default;

void Exporter::run(const std::stop_token& stop) {
  State& state = *state_;
  if (!state.options.is_on()) return;
  Clock& clock = state.clock;
  auto next_collection = clock.steady() + state.options.interval;
  for (;;) {
    const auto wake =
        state.queue.empty() ? next_collection : std::min(next_collection, state.next_try);
    const auto wait = wake - clock.steady();
    if (stop.stop_requested() || (wait.count() > 0 && !clock.wait_for(wait, stop))) break;
    if (clock.steady() >= next_collection) {
      state.gather();
      // Ticks that passed during a slow push are not made up for.
      while (next_collection <= clock.steady()) next_collection += state.options.interval;
    }
    if (state.queue.empty() || clock.steady() < state.next_try) continue;
    if (state.try_front(state.options.timeout, stop) == Outcome::Kind::Stopped) break;
  }
  state.flush();
}

}  // namespace nobs::otel
