// What the embedded API does that no real server does on demand: faults, lost answers, expired history, its log.
#include "tests/sim/api/api_server.h"

#include <doctest/doctest.h>

#include <thread>

#include "shared/kube/client.h"
#include "tests/sim/api/table.h"
#include "tests/support/eventually.h"

namespace nobs::sim {
namespace {

using json::Value;
using test::eventually;
using namespace std::chrono_literals;

constexpr ResourceType kNodes{"", "v1", "nodes", "Node"};
constexpr ResourceType kDevices{"neuronobserver.io", "v1alpha1", "neurondevices", "NeuronDevice"};
constexpr ResourceType kLeases{"coordination.k8s.io", "v1", "leases", "Lease", true};
const std::stop_token kNever;

const std::string kCrds = NOBS_SOURCE_DIR "/crds";

Value named(const std::string& name) {
  return json::object({{"metadata", json::object({{"name", name}})}});
}

// "" or why not: a failed check then shows the reason.
template <typename T>
std::string why_not(const Result<T>& result) {
  return result ? "" : result.error().message;
}

struct Fixture {
  explicit Fixture(ApiServer::Options options = {}) : server(with_crds(std::move(options))) {
    const auto started = server.start();
    REQUIRE_MESSAGE(started, (started ? "" : started.error().message));
    const auto config = kube::parse_kubeconfig(server.kubeconfig("admin"), "", "");
    REQUIRE(config);
    client.emplace(*config, "tester/1.0", clock);
  }
  static ApiServer::Options with_crds(ApiServer::Options options) {
    options.crd_directory = kCrds;
    return options;
  }
  Result<Value> cordon(const char* name = "a") {
    return client->patch(
        kNodes, "", name,
        {.body = json::object({{"spec", json::object({{"unschedulable", true}})}})}, kNever);
  }
  bool is_cordoned() const {
    return server.get(kNodes, "", "a")["spec"]["unschedulable"].bool_or(false);
  }

  SystemClock clock;
  ApiServer server;
  std::optional<kube::Client> client;
};

// A watch on a thread of its own.
struct Watching {
  Watching(kube::Client& client, const ResourceType& type, kube::WatchOptions options) {
    thread = std::jthread([&client, type, options, this](const std::stop_token& stop) {
      const auto ended = client.watch(
          type, "", options, stop, [&](kube::WatchEventType event, const Value& object) {
            const std::lock_guard lock(mutex);
            const char* names[] = {"ADDED ", "MODIFIED ", "DELETED ", "BOOKMARK "};
            seen.push_back(names[static_cast<int>(event)] +
                           object["metadata"]["name"].string_or(""));
            return true;
          });
      const std::lock_guard lock(mutex);
      result = ended;
    });
  }
  bool has(const std::string& event) const {
    const std::lock_guard lock(mutex);
    return std::find(seen.begin(), seen.end(), event) != seen.end();
  }
  size_t count() const {
    const std::lock_guard lock(mutex);
    return seen.size();
  }
  std::optional<Result<void>> ended() const {
    const std::lock_guard lock(mutex);
    return result;
  }

  mutable std::mutex mutex;
  std::vector<std::string> seen;
  std::optional<Result<void>> result;
  std::jthread thread;
};

TEST_CASE("what a test puts is served, and what a client writes can be looked at") {
  Fixture f;
  const auto put = f.server.put(kNodes, named("a"));
  CHECK_FALSE(put["metadata"]["uid"].string_or("").empty());
  CHECK(f.client->get(kNodes, "", "a", kNever).operator*()["metadata"]["uid"] ==
        put["metadata"]["uid"]);
  REQUIRE(f.cordon());
  CHECK(f.is_cordoned());
  CHECK(f.server.list(kNodes).size() == 1);
  CHECK(f.server.remove(kNodes, "", "a"));
  CHECK_FALSE(f.server.remove(kNodes, "", "a"));
  CHECK(f.client->get(kNodes, "", "a", kNever).error().is_not_found());
  CHECK(f.server.put({"no", "v1", "such", "Thing"}, named("x")).is_null());
}

TEST_CASE(
    "a put again keeps the identity of the object and is a new generation when the spec changes") {
  Fixture f;
  auto device = named("d");
  const auto first = f.server.put(kDevices, device);
  device["status"]["health"] = "Healthy";
  CHECK(f.server.put(kDevices, device)["metadata"]["generation"].int_or(0) == 1);
  device["spec"]["index"] = 3;
  const auto third = f.server.put(kDevices, device);
  CHECK(third["metadata"]["generation"].int_or(0) == 2);
  CHECK(third["metadata"]["uid"] == first["metadata"]["uid"]);
}

TEST_CASE("an injected status is answered so often as asked, after as many as skipped") {
  Fixture f;
  f.server.put(kNodes, named("a"));
  f.server.inject({.verb = "patch",
                   .resource = "nodes",
                   .skip = 1,
                   .count = 2,
                   .status = 503,
                   .retry_after = 7});
  CHECK(why_not(f.cordon()) == "");
  for (int i = 0; i < 2; ++i) {
    const auto refused = f.cordon();
    REQUIRE_FALSE(refused);
    CHECK(refused.error().http_status == 503);
    CHECK(refused.error().retry_after == 7s);
  }
  CHECK(why_not(f.cordon()) == "");
}

TEST_CASE("a fault hits only the verb, resource, name and user agent it names") {
  Fixture f;
  f.server.put(kNodes, named("a"));
  for (const auto& other : {Fault{.verb = "get", .count = -1, .status = 500},
                            Fault{.resource = "nodes/status", .count = -1, .status = 500},
                            Fault{.name = "b", .count = -1, .status = 500},
                            Fault{.user_agent = "somebody", .count = -1, .status = 500}})
    f.server.inject(other);
  CHECK(why_not(f.cordon()) == "");
  f.server.inject({.verb = "patch",
                   .resource = "nodes",
                   .name = "a",
                   .user_agent = "tester",
                   .count = -1,
                   .status = 429});
  CHECK(f.cordon().error().code == ErrorCode::TooMany);
  f.server.clear_faults();
  CHECK(why_not(f.cordon()) == "");
}

TEST_CASE("an answer can be lost before or after the write took effect") {
  Fixture f;
  f.server.put(kNodes, named("a"));
  f.server.inject({.verb = "patch", .answer = Broken::Closed});
  CHECK(f.cordon().error().code == ErrorCode::Unreachable);
  CHECK_FALSE(f.is_cordoned());
  f.server.inject({.verb = "patch", .takes_effect = true, .answer = Broken::Closed});
  CHECK(f.cordon().error().code == ErrorCode::Unreachable);
  CHECK(f.is_cordoned());
}

TEST_CASE("a write can take effect although the answer says it did not") {
  Fixture f;
  f.server.put(kNodes, named("a"));
  f.server.inject({.verb = "patch", .takes_effect = true, .status = 504});
  CHECK(f.cordon().error().http_status == 504);
  CHECK(f.is_cordoned());
}

TEST_CASE("half an answer is an error for the client, and the write has happened") {
  Fixture f;
  f.server.put(kNodes, named("a"));
  f.server.inject({.verb = "patch", .answer = Broken::Half});
  CHECK(f.cordon().error().code == ErrorCode::Unreachable);
  CHECK(f.is_cordoned());
}

TEST_CASE("latency delays the answer") {
  Fixture f;
  f.server.put(kNodes, named("a"));
  f.server.inject({.verb = "patch", .latency = 150ms});
  const auto begin = std::chrono::steady_clock::now();
  CHECK(why_not(f.cordon()) == "");
  CHECK(std::chrono::steady_clock::now() - begin >= 150ms);
}

TEST_CASE("a watch sees puts and removals, and bookmarks at the interval asked for") {
  Fixture f({.bookmark_interval = 20ms});
  f.server.put(kNodes, named("a"));
  Watching watching(*f.client, kNodes, {});
  CHECK(eventually(5s, [&] { return watching.has("ADDED a"); }));
  f.server.put(kNodes, named("b"));
  f.server.remove(kNodes, "", "a");
  CHECK(eventually(5s, [&] { return watching.has("ADDED b") && watching.has("DELETED a"); }));
  const size_t before = watching.count();
  CHECK(
      eventually(5s, [&] { return watching.count() >= before + 3 && watching.has("BOOKMARK "); }));
}

TEST_CASE("watches can be dropped cleanly, and in the middle") {
  Fixture f;
  f.server.put(kNodes, named("a"));
  Watching clean(*f.client, kNodes, {});
  REQUIRE(eventually(5s, [&] { return clean.has("ADDED a"); }));
  f.server.drop_watches();
  REQUIRE(eventually(5s, [&] { return clean.ended().has_value(); }));
  CHECK(*clean.ended());

  Watching cut(*f.client, kNodes, {});
  REQUIRE(eventually(5s, [&] { return cut.has("ADDED a"); }));
  f.server.drop_watches(false);
  REQUIRE(eventually(5s, [&] { return cut.ended().has_value(); }));
  REQUIRE_FALSE(*cut.ended());
  CHECK(cut.ended()->error().code == ErrorCode::Unreachable);
}

TEST_CASE("a silent watch opens and tells nothing, so that only a client with a limit notices") {
  Fixture f({.bookmark_interval = 10ms});
  f.server.put(kNodes, named("a"));
  f.server.inject({.verb = "watch", .answer = Broken::Silent});
  Watching silent(*f.client, kNodes, {.silence = 200ms});
  REQUIRE(eventually(5s, [&] { return silent.ended().has_value(); }));
  CHECK(silent.count() == 0);
  REQUIRE_FALSE(*silent.ended());
  CHECK(silent.ended()->error().code == ErrorCode::Timeout);
}

TEST_CASE("a version older than the history kept is 410 for a watch") {
  Fixture f({.history = 3});
  const auto version =
      f.server.put(kNodes, named("a"))["metadata"]["resourceVersion"].string_or("");
  for (int i = 0; i < 5; ++i) f.server.put(kNodes, named("b" + std::to_string(i)));
  const auto result = f.client->watch(kNodes, "", {.resource_version = version, .timeout = 3s},
                                      kNever, [](auto, const auto&) { return true; });
  REQUIRE_FALSE(result);
  CHECK(result.error().is_gone());
}

TEST_CASE("forgotten history expires versions and continue tokens, but not the watches that run") {
  Fixture f;
  for (const auto* name : {"a", "b", "c"}) f.server.put(kNodes, named(name));
  Watching watching(*f.client, kNodes, {});
  REQUIRE(eventually(5s, [&] { return watching.has("ADDED c"); }));
  const auto page =
      f.client->list(kNodes, "", {.limit = 1}, kNever, [](const auto&) { return true; });
  REQUIRE(page);
  f.server.forget_history();
  const auto next = f.client->list(kNodes, "", {.limit = 1, .continue_token = page->continue_token},
                                   kNever, [](const auto&) { return true; });
  REQUIRE_FALSE(next);
  CHECK(next.error().is_gone());
  const auto late =
      f.client->watch(kNodes, "", {.resource_version = page->resource_version, .timeout = 3s},
                      kNever, [](auto, const auto&) { return true; });
  CHECK(late.error().is_gone());
  f.server.put(kNodes, named("d"));
  CHECK(eventually(5s, [&] { return watching.has("ADDED d"); }));
}

TEST_CASE("every request is in the log, with who asked and what came of it") {
  Fixture f;
  f.server.put(kNodes, named("a"));
  f.server.inject({.verb = "patch", .answer = Broken::Closed});
  CHECK_FALSE(f.cordon());
  CHECK_FALSE(f.client->get(kLeases, "default", "none", kNever));
  const auto log = f.server.requests();
  REQUIRE(log.size() == 2);
  CHECK(log[0].verb == "patch");
  CHECK(log[0].resource == "nodes");
  CHECK(log[0].name == "a");
  CHECK(log[0].user == "admin");
  CHECK(log[0].user_agent.find("tester") == 0);
  CHECK(log[0].code == 0);
  CHECK(log[1].verb == "get");
  CHECK(log[1].ns == "default");
  CHECK(log[1].code == 404);
  f.server.clear_requests();
  CHECK(f.server.requests().empty());
}

TEST_CASE("another person can be let in, with rights or without") {
  Fixture f;
  f.server.add_user("system:serviceaccount:x:agent", "agent-token", false);
  auto config = *kube::parse_kubeconfig(f.server.kubeconfig("admin"), "", "");
  config.token = "agent-token";
  kube::Client agent(config, "agent", f.clock);
  CHECK(agent.get(kNodes, "", "a", kNever).error().code == ErrorCode::Forbidden);
  f.server.add_user("system:serviceaccount:x:agent", "agent-token", true);
  CHECK(agent.get(kNodes, "", "a", kNever).error().is_not_found());
}

TEST_CASE("a server without WatchList refuses the initial events, as old ones do") {
  Fixture f({.watch_list = false});
  const auto config = *kube::parse_kubeconfig(f.server.kubeconfig("admin"), "", "");
  net::Client raw(config.endpoint);
  net::Request request{
      .target = "/api/v1/nodes?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"};
  request.headers.set("Authorization", "Bearer " + config.token);
  const auto answer = raw.send(request, {}, kNever);
  REQUIRE(answer);
  CHECK(answer->status == 422);
}

TEST_CASE("another process injects faults and counts requests over HTTP") {
  Fixture f;
  f.server.put(kNodes, named("a"));
  const auto config = *kube::parse_kubeconfig(f.server.kubeconfig("admin"), "", "");
  net::Client raw(config.endpoint);
  const auto call = [&](const char* method, const char* target, const char* body) {
    net::Request request{.method = method, .target = target, .body = body};
    request.headers.set("Authorization", "Bearer " + config.token);
    const auto answer = raw.send(request, {}, kNever);
    REQUIRE(answer);
    return *answer;
  };
  CHECK(call("POST", "/_sim/faults", R"({"verb":"patch","status":500})").status == 200);
  CHECK(call("POST", "/_sim/faults", R"({"verbs":"patch"})").status == 400);
  CHECK(f.cordon().error().http_status == 500);
  CHECK(why_not(f.cordon()) == "");
  const auto log = json::parse(call("GET", "/_sim/requests", "").body);
  REQUIRE(log);
  REQUIRE(log->items().size() == 2);
  CHECK(log->items()[0]["code"].int_or(0) == 500);
  CHECK(call("POST", "/_sim/forget-history", "").status == 200);
  CHECK(call("POST", "/_sim/drop-watches?cut=true", "").status == 200);
  CHECK(call("DELETE", "/_sim/requests", "").status == 200);
  CHECK(f.server.requests().empty());
}

TEST_CASE("a server with open watches stops at once") {
  auto f = std::make_unique<Fixture>();
  f->server.put(kNodes, named("a"));
  Watching watching(*f->client, kNodes, {});
  REQUIRE(eventually(5s, [&] { return watching.has("ADDED a"); }));
  const auto begin = std::chrono::steady_clock::now();
  f->server.stop();
  CHECK(std::chrono::steady_clock::now() - begin < 2s);
}

TEST_CASE("CRDs that are not there, or are none, are an error at the start") {
  ApiServer nowhere({.crd_directory = "/nowhere"});
  CHECK_FALSE(nowhere.start());
  CHECK_FALSE(resources_of_crd("kind: Other"));
  CHECK_FALSE(resources_of_crd("a: [b"));
}

TEST_CASE("ages are written as kubectl writes them") {
  CHECK(human_duration(119s) == "119s");
  CHECK(human_duration(123s) == "2m3s");
  CHECK(human_duration(11min) == "11m");
  CHECK(human_duration(3h + 5min) == "3h5m");
  CHECK(human_duration(9h) == "9h");
  CHECK(human_duration(50h) == "2d2h");
  CHECK(human_duration(24h * 333) == "333d");
}

}  // namespace
}  // namespace nobs::sim
