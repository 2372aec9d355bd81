// Long polls and events through a real server: what waits must not keep others waiting.
#include <doctest/doctest.h>

#include <thread>

#include "agent/serve/api.h"
#include "agent/serve/routes.h"
#include "shared/net/client.h"
#include "tests/support/eventually.h"
#include "tests/unit/agent/serve/reports.h"

using namespace nobs;
using namespace nobs::serve::test;
using namespace std::chrono_literals;
using nobs::test::eventually;

namespace {

const WallTime kStart{1'000ms};

struct Served {
  serve::Board board{kStart, 4};
  metrics::Registry registry;
  net::Server server;

  explicit Served(std::chrono::milliseconds keep_alive = 15s)
      : server({}, serve::routes(registry, {[] { return true; }, [] { return true; }},
                                 serve::api(board, {.node = "a", .keep_alive = keep_alive}))) {
    board.post(shared(report(7)), {});
    REQUIRE(server.start());
  }
  net::Client client() const { return net::Client({.host = "127.0.0.1", .port = server.port()}); }
};

// A client that reads a path until its object goes.
class Reader {
 public:
  Reader(const Served& served, const std::string& target, net::Headers headers = {})
      : thread_([this, port = served.server.port(), target,
                 headers = std::move(headers)](const std::stop_token& stop) {
          net::Client client({.host = "127.0.0.1", .port = port});
          net::Request request{.target = target, .headers = headers};
          [[maybe_unused]] const auto end = client.stream(
              request, {.silence = 20s}, stop, [](const net::Response&) { return true; },
              [this](std::string_view piece) {
                const std::lock_guard lock(mutex_);
                text_ += piece;
                return true;
              });
          done_ = true;
        }) {}

  std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  bool has(const std::string& part) const { return text().find(part) != std::string::npos; }
  bool done() const { return done_; }

 private:
  mutable std::mutex mutex_;
  std::string text_;
  std::atomic<bool> done_ = false;
  std::jthread thread_;
};

net::Headers as_stream(const std::string& last_id = "") {
  net::Headers headers;
  headers.set("Accept", "text/event-stream");
  if (!last_id.empty()) headers.set("Last-Event-ID", last_id);
  return headers;
}

}  // namespace

TEST_CASE("a long poll ends with the next version, or with the same at its deadline") {
  Served served;
  const Reader reader(served, "/api/v1alpha1/snapshot?since=7&wait=60");
  const auto none =
      served.client().send({.target = "/api/v1alpha1/snapshot?since=7&wait=1"}, {.total = 10s}, {});
  REQUIRE(none);
  CHECK(none->body.find("\"version\":7") != std::string::npos);
  CHECK_FALSE(reader.done());
  served.board.post(shared(report(8)), {});
  REQUIRE(eventually(5s, [&] { return reader.done(); }));
  CHECK(reader.has("\"version\":8"));
}

TEST_CASE("many that wait do not keep probes and scrapes waiting") {
  Served served;
  std::vector<std::unique_ptr<Reader>> readers;
  for (int i = 0; i < 12; ++i) {
    readers.push_back(std::make_unique<Reader>(served, "/api/v1alpha1/snapshot?since=7&wait=60"));
    readers.push_back(std::make_unique<Reader>(served, "/api/v1alpha1/events", as_stream()));
  }
  REQUIRE(eventually(10s, [&] { return readers[23]->has("\n\n"); }));
  for (const auto* path : {"/healthz", "/metrics", "/api/v1alpha1/devices"}) {
    const auto answer = served.client().send({.target = path}, {.total = 3s}, {});
    REQUIRE(answer);
    CHECK(answer->status == 200);
  }
}

TEST_CASE("a stream of events begins now, and carries ids to go on from") {
  Served served;
  served.board.post(shared(report(8)), {turned(0)});
  const Reader reader(served, "/api/v1alpha1/events", as_stream());
  REQUIRE(eventually(5s, [&] { return reader.has("\n\n"); }));
  served.board.post(shared(report(9)), {began(1)});
  REQUIRE(eventually(5s, [&] { return reader.has("id: 1002\ndata: {"); }));
  CHECK_FALSE(reader.has("id: 1001"));
  CHECK_FALSE(reader.has("reset"));

  const Reader again(served, "/api/v1alpha1/events?lastEventId=1", as_stream("1001"));
  REQUIRE(eventually(5s, [&] { return again.has("id: 1002\n"); }));
  CHECK_FALSE(again.has("reset"));
  CHECK_FALSE(again.has("id: 1001"));
}

TEST_CASE("who comes back too late is told to read the snapshot again") {
  Served served;
  for (int i = 0; i < 6; ++i) served.board.post(shared(report(8)), {began(1)});
  const Reader reader(served, "/api/v1alpha1/events?lastEventId=1001", as_stream());
  REQUIRE(eventually(5s, [&] { return reader.has("id: 1006\n"); }));
  CHECK(reader.text().find("event: reset\nid: 1002\n") < reader.text().find("id: 1003\n"));
  const Reader all(served, "/api/v1alpha1/events?lastEventId=0", as_stream());
  REQUIRE(eventually(5s, [&] { return all.has("id: 1006\n"); }));
  CHECK_FALSE(all.has("reset"));
}

TEST_CASE("a silent stream sends comments, so that nobody takes it for dead") {
  Served served(50ms);
  const Reader reader(served, "/api/v1alpha1/events", as_stream());
  CHECK(eventually(5s, [&] { return reader.has(": keep-alive\n\n: keep-alive\n\n"); }));
}

TEST_CASE("the server stops within a second while clients wait") {
  auto served = std::make_unique<Served>();
  const Reader poll(*served, "/api/v1alpha1/snapshot?since=7&wait=60");
  const Reader events(*served, "/api/v1alpha1/events", as_stream());
  REQUIRE(eventually(5s, [&] { return events.has("\n\n"); }));
  const auto begin = std::chrono::steady_clock::now();
  served->server.stop();
  CHECK(std::chrono::steady_clock::now() - begin < 3s);
}
