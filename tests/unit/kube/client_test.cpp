// The client against a server that answers what a test says; what a real one answers is in tests/sim and the scenarios.
#include "shared/kube/client.h"

#include <doctest/doctest.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "shared/net/server.h"
#include "tests/support/directory.h"
#include "tests/support/eventually.h"
#include "tests/support/fake_clock.h"

namespace nobs::kube {
namespace {

using test::Directory;

using namespace std::chrono_literals;
using json::Value;

constexpr ResourceType kNodes{.group = "", .version = "v1", .plural = "nodes", .kind = "Node"};
constexpr ResourceType kPods{"", "v1", "pods", "Pod", true};
constexpr ResourceType kDevices{"neuronobserver.io", "v1alpha1", "neurondevices", "NeuronDevice"};

net::Answer answer(int status, std::string body) {
  net::Answer result(status, {}, std::move(body));
  result.headers.set("Content-Type", "application/json");
  return result;
}

// A server, a client of it, and what was asked.
class Api {
 public:
  explicit Api(std::function<net::Answer(const net::Request&)> handler, Config config = {})
      : server_({.max_body = 1 << 20},
                [this, handler = std::move(handler)](const net::Request& request) {
                  {
                    const std::lock_guard lock(mutex_);
                    requests_.push_back(request);
                  }
                  return handler(request);
                }) {
    REQUIRE(server_.start());
    config.endpoint.host = "127.0.0.1";
    config.endpoint.port = server_.port();
    client = std::make_unique<Client>(
        std::move(config), "neuron-observer-agent/0.1", clock, [this](const Finished& finished) {
          const std::lock_guard lock(mutex_);
          finished_.push_back(std::string(finished.verb) + " " + std::string(finished.resource) +
                              " " + std::to_string(finished.code));
        });
  }

  std::vector<net::Request> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  net::Request last() { return requests().back(); }
  std::vector<std::string> finished() {
    const std::lock_guard lock(mutex_);
    return finished_;
  }

 private:
  std::mutex mutex_;
  std::vector<net::Request> requests_;
  std::vector<std::string> finished_;

 public:
  test::FakeClock clock;
  std::unique_ptr<Client> client;

 private:
  net::Server server_;
};

std::string header(const net::Request& request, const char* name) {
  const auto* value = request.headers.find(name);
  return value ? *value : "none";
}

const std::string kList =
    R"({"apiVersion":"v1","items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}],)"
    R"("kind":"X","metadata":{"continue":"","resourceVersion":"9"}})";

struct Event {
  WatchEventType type;
  Value object;
};

struct Watched {
  Result<void> end;
  std::vector<Event> events;
};

Watched watch(Api& api, const WatchOptions& options = {}, size_t stop_after = 1000) {
  Watched watched;
  watched.end = api.client->watch(kNodes, "", options, {}, [&](WatchEventType type, Value object) {
    watched.events.push_back({type, std::move(object)});
    return watched.events.size() < stop_after;
  });
  return watched;
}

}  // namespace

TEST_CASE("a get asks for JSON, says who asks, and returns the object") {
  Api api([](const net::Request&) { return answer(200, R"({"kind":"Node"})"); });
  const auto node = api.client->get(kNodes, "", "a b", {});
  REQUIRE_MESSAGE(node, node.error().message);
  CHECK((*node)["kind"] == Value("Node"));
  const auto request = api.last();
  CHECK(request.method == "GET");
  CHECK(request.target == "/api/v1/nodes/a%20b");
  CHECK(header(request, "Accept") == "application/json");
  CHECK(header(request, "User-Agent") == "neuron-observer-agent/0.1");
  CHECK(header(request, "Authorization") == "none");
  CHECK(api.finished() == std::vector<std::string>{"get nodes 200"});
}

TEST_CASE("a path prefix and a token of the configuration are used") {
  Config config;
  config.path_prefix = "/k8s/c-1";
  config.token = "abc";
  config.default_namespace = "team";
  Api api([](const net::Request&) { return answer(200, "{}"); }, config);
  REQUIRE(api.client->get(kPods, "team", "p", {}));
  CHECK(api.last().target == "/k8s/c-1/api/v1/namespaces/team/pods/p");
  CHECK(header(api.last(), "Authorization") == "Bearer abc");
  CHECK(api.client->default_namespace() == "team");
}

TEST_CASE("each kind of patch has its content type and names its writer") {
  Api api([](const net::Request&) { return answer(200, "{}"); });
  const auto sent = [&](const Patch& patch) {
    REQUIRE(api.client->patch(kDevices, "", "x", patch, {}));
    const auto request = api.last();
    CHECK(request.method == "PATCH");
    return header(request, "Content-Type") + " " + request.target + " " + request.body;
  };
  const std::string path = " /apis/neuronobserver.io/v1alpha1/neurondevices/x";
  CHECK(sent({.kind = PatchKind::Json,
              .body = json::array({1}),
              .subresource = "",
              .field_manager = ""}) ==
        "application/json-patch+json" + path + "?fieldManager=neuron-observer-agent [1]");
  CHECK(sent({.kind = PatchKind::Merge,
              .body = json::object({}),
              .subresource = "status",
              .field_manager = "me"}) ==
        "application/merge-patch+json" + path + "/status?fieldManager=me {}");
  CHECK(sent({.kind = PatchKind::Strategic,
              .body = json::object({}),
              .subresource = "",
              .field_manager = "me",
              .force = true}) ==
        "application/strategic-merge-patch+json" + path + "?fieldManager=me {}");
  CHECK(sent({.kind = PatchKind::Apply,
              .body = json::object({}),
              .subresource = "",
              .field_manager = "me",
              .force = true}) ==
        "application/apply-patch+yaml" + path + "?fieldManager=me&force=true {}");
}

TEST_CASE("create, replace and remove send what they should") {
  Api api([](const net::Request&) { return answer(200, "{}"); });
  REQUIRE(api.client->create(kPods, "n", json::object({{"a", 1}}), {}));
  CHECK(api.last().method == "POST");
  CHECK(api.last().target == "/api/v1/namespaces/n/pods?fieldManager=neuron-observer-agent");
  CHECK(header(api.last(), "Content-Type") == "application/json");
  CHECK(api.last().body == R"({"a":1})");
  REQUIRE(api.client->replace(kPods, "n", "p", json::object({}), {}));
  CHECK(api.last().method == "PUT");
  CHECK(api.last().target == "/api/v1/namespaces/n/pods/p?fieldManager=neuron-observer-agent");
  REQUIRE(api.client->remove(kPods, "n", "p", "u-1", {}));
  CHECK(api.last().method == "DELETE");
  CHECK(api.last().body ==
        R"({"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u-1"}})");
  REQUIRE(api.client->remove(kPods, "n", "p", "", {}));
  CHECK(api.last().body.empty());
}

TEST_CASE("an empty name never turns a delete into the delete of a collection") {
  Api api([](const net::Request&) { return answer(200, "{}"); });
  CHECK(api.client->remove(kNodes, "", "", "", {}).error().code == ErrorCode::Invalid);
  CHECK_FALSE(api.client->get(kNodes, "", "..", {}));
  CHECK_FALSE(api.client->patch(kNodes, "", "a/b", {}, {}));
  CHECK_FALSE(api.client->replace(kNodes, "", "", {}, {}));
  CHECK(api.requests().empty());
}

TEST_CASE("a refusal becomes a typed error with the server's words and patience") {
  Api api([](const net::Request& request) {
    if (request.method == "GET") {
      auto busy = answer(429, "Too many requests, please try again later.\n");
      busy.headers.set("Retry-After", "3");
      return busy;
    }
    return answer(
        422,
        R"({"kind":"Status","message":"the server rejected our request due to an error in our )"
        R"(request","reason":"Invalid","details":{},"code":422})");
  });
  const auto busy = api.client->get(kNodes, "", "a", {});
  CHECK(busy.error().code == ErrorCode::TooMany);
  CHECK(busy.error().retry_after == 3s);
  CHECK(api.client->patch(kNodes, "", "a", {.kind = PatchKind::Json}, {}).error().is_conflict());
  CHECK(api.finished() == std::vector<std::string>{"get nodes 429", "patch nodes 422"});
}

TEST_CASE("an answer that is no JSON object is the server's error and may be tried again") {
  std::string body;
  Api api([&](const net::Request&) { return answer(200, body); });
  for (const auto* text : {"<html>", "", "[]", "7", "{\"a\":"}) {
    body = text;
    const auto node = api.client->get(kNodes, "", "a", {});
    REQUIRE_FALSE(node);
    CHECK(node.error().code == ErrorCode::Server);
  }
}

TEST_CASE("a server that is not there is Unreachable, and metrics see code 0") {
  Config config;
  int port = 0;
  {
    net::Server gone({}, [](const net::Request&) { return answer(200, "{}"); });
    REQUIRE(gone.start());
    port = gone.port();
  }
  config.endpoint.host = "127.0.0.1";
  config.endpoint.port = port;
  test::FakeClock clock;
  int code = -1;
  Client client(config, "x", clock, [&](const Finished& finished) { code = finished.code; });
  CHECK(client.get(kNodes, "", "a", {}).error().code == ErrorCode::Unreachable);
  CHECK(code == 0);
}

TEST_CASE("a call ends soon after stop") {
  std::atomic<bool> release = false;
  Api api([&](const net::Request&) {
    test::eventually(10s, [&] { return release.load(); });
    return answer(200, "{}");
  });
  std::stop_source stop;
  std::jthread stopper([&] {
    test::eventually(5s, [&] { return api.requests().size() == 1; });
    stop.request_stop();
  });
  const auto before = std::chrono::steady_clock::now();
  CHECK(api.client->get(kNodes, "", "a", stop.get_token()).error().is_stopped());
  CHECK(std::chrono::steady_clock::now() - before < 5s);
  release = true;
}

TEST_CASE("after a 401 the token file is read again and the request repeated once") {
  const Directory directory;
  Config config;
  config.token_file = directory.file("token", "old");
  Api api(
      [](const net::Request& request) {
        return header(request, "Authorization") == "Bearer new" ? answer(200, kList)
                                                                : answer(401, "{}");
      },
      config);
  CHECK(api.client->get(kNodes, "", "a", {}).error().code == ErrorCode::Unauthorized);
  CHECK(api.requests().size() == 1);  // nothing newer: no second try
  directory.file("token", "new");
  CHECK(api.client->get(kNodes, "", "a", {}));
  CHECK(api.requests().size() == 3);
  directory.file("token", "wrong");
  api.clock.advance(11s);
  CHECK_FALSE(api.client->get(kNodes, "", "a", {}));
  directory.file("token", "new");
  size_t items = 0;
  CHECK(api.client->list(kNodes, "", {}, {}, [&](Value) { return ++items > 0; }));
  CHECK(items == 2);
}

TEST_CASE("a list comes item by item with its end, gzip asked for") {
  Api api([](const net::Request&) { return answer(200, kList); });
  std::vector<std::string> names;
  const auto end = api.client->list(kNodes, "", {.field_selector = "a=b"}, {}, [&](Value item) {
    names.push_back(std::as_const(item)["metadata"]["name"].string_or(""));
    return true;
  });
  REQUIRE_MESSAGE(end, end.error().message);
  CHECK(names == std::vector<std::string>{"a", "b"});
  CHECK(end->resource_version == "9");
  CHECK(api.last().target == "/api/v1/nodes?fieldSelector=a%3Db&limit=500");
  CHECK(header(api.last(), "Accept-Encoding") == "gzip");
  CHECK(api.finished() == std::vector<std::string>{"list nodes 200"});
}

TEST_CASE("a list that is cut, is none or has a broken item is an error") {
  std::string body;
  int status = 200;
  Api api([&](const net::Request&) { return answer(status, body); });
  const auto list = [&](const std::string& text) {
    body = text;
    return api.client->list(kNodes, "", {}, {}, [](Value) { return true; }).error();
  };
  CHECK(list(kList.substr(0, 60)).is_temporary());
  CHECK(list(R"({"items":[7],"metadata":{}})").code == ErrorCode::Server);
  CHECK(list(R"({"items":[{"a":nope}],"metadata":{}})").code == ErrorCode::Server);
  CHECK(list(R"({"kind":"Status","metadata":{}})").code == ErrorCode::Server);
  CHECK(list("<html>").code == ErrorCode::Server);
  status = 410;
  CHECK(list(R"({"kind":"Status","reason":"Expired","code":410})").is_gone());
  status = 500;
  CHECK(list(std::string(200'000, 'x')).code == ErrorCode::Server);
}

TEST_CASE("a reader that has enough ends the list with Stopped") {
  Api api([](const net::Request&) { return answer(200, kList); });
  int items = 0;
  const auto end = api.client->list(kNodes, "", {}, {}, [&](Value) { return ++items < 1; });
  CHECK(end.error().is_stopped());
  CHECK(items == 1);
}

TEST_CASE("list_all follows the pages and gives up on a list without end") {
  bool endless = false;
  Api api([&](const net::Request& request) {
    const bool second = request.target.find("continue=p2") != std::string::npos;
    return answer(200, std::string(R"({"metadata":{"continue":")") +
                           (endless || !second ? "p2" : "") + R"("},"items":[{"n":)" +
                           (second ? "2" : "1") + "}]}");
  });
  const auto all = api.client->list_all(kNodes, "", {}, {});
  REQUIRE_MESSAGE(all, all.error().message);
  CHECK(json::dump(*all) == R"([{"n":1},{"n":2}])");
  endless = true;
  CHECK(api.client->list_all(kNodes, "", {}, {}).error().code == ErrorCode::Server);

  std::string items = "{}";
  for (int i = 0; i < 20'000; ++i) items += ",{}";
  Api huge([&](const net::Request&) {
    return answer(200, R"({"metadata":{},"items":[)" + items + "]}");
  });
  CHECK(huge.client->list_all(kNodes, "", {}, {}).error().code == ErrorCode::Server);
}

TEST_CASE("a watch gives each event its type and ends in success when the server ends it") {
  Api api([](const net::Request&) {
    net::Answer stream = answer(200, "");
    stream.stream = [](const net::Writer& write) {
      write(R"({"type":"ADDED","object":{"a":1}})"
            "\n{\"type\":\"MODI");
      write("FIED\",\"object\":{\"a\":2}}\n\n");
      write(
          "{\"type\":\"DELETED\",\"object\":{\"a\":3}}\n"
          "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"12\"}}}\n{"
          "\"type\":\"ADD");
    };
    return stream;
  });
  const auto watched = watch(api, {.resource_version = "7", .timeout = 60s});
  CHECK_MESSAGE(watched.end, watched.end.error().message);
  REQUIRE(watched.events.size() == 4);
  CHECK(watched.events[0].type == WatchEventType::Added);
  CHECK(watched.events[1].type == WatchEventType::Modified);
  CHECK(watched.events[1].object["a"] == Value(2));
  CHECK(watched.events[2].type == WatchEventType::Deleted);
  CHECK(watched.events[3].type == WatchEventType::Bookmark);
  CHECK(watched.events[3].object["metadata"]["resourceVersion"] == Value("12"));
  CHECK(api.last().target ==
        "/api/v1/nodes?watch=1&allowWatchBookmarks=true&resourceVersion=7&timeoutSeconds=60");
  CHECK(api.finished() == std::vector<std::string>{"watch nodes 200"});
}

TEST_CASE("an ERROR event is the error it holds: a version the server has forgotten is Gone") {
  Api api([](const net::Request&) {
    return answer(
        200,
        R"({"type":"ADDED","object":{}})"
        "\n"
        R"x({"type":"ERROR","object":{"kind":"Status","message":"too old resource version: 1 (220)",)x"
        R"("reason":"Expired","code":410}})"
        "\n");
  });
  const auto watched = watch(api);
  REQUIRE_FALSE(watched.end);
  CHECK(watched.end.error().is_gone());
  CHECK(watched.end.error().message == "HTTP 410: too old resource version: 1 (220)");
  CHECK(watched.events.size() == 1);
}

TEST_CASE("a watch that is refused or sends what is no event is an error") {
  int status = 410;
  std::string body = R"({"reason":"Gone","code":410})";
  Api api([&](const net::Request&) { return answer(status, body); });
  CHECK(watch(api).end.error().is_gone());
  status = 200;
  for (const auto* text :
       {"<html>\n", "{}\n", "[]\n", "{\"type\":\"ADDED\"}\n",
        "{\"type\":\"ADDED\",\"object\":[]}\n", "{\"type\":\"NEW\",\"object\":{}}\n"}) {
    body = text;
    CAPTURE(body);
    const auto watched = watch(api);
    REQUIRE_FALSE(watched.end);
    CHECK(watched.end.error().code == ErrorCode::Server);
    CHECK(watched.events.empty());
  }
}

TEST_CASE("a silent watch ends with Timeout, one whose reader has enough with Stopped") {
  std::atomic<bool> over = false;
  Api api([&](const net::Request&) {
    net::Answer stream = answer(200, "");
    stream.stream = [&](const net::Writer& write) {
      write("{\"type\":\"ADDED\",\"object\":{}}\n");
      test::eventually(10s, [&] { return over.load(); });
    };
    return stream;
  });
  CHECK(watch(api, {.silence = 100ms}).end.error().code == ErrorCode::Timeout);
  CHECK(watch(api, {}, 1).end.error().is_stopped());
  over = true;
}

TEST_CASE("a watch does not hold up other calls of the same client") {
  std::atomic<bool> over = false;
  Api api([&](const net::Request& request) {
    if (request.target.find("watch") == std::string::npos) return answer(200, "{}");
    net::Answer stream = answer(200, "");
    stream.stream = [&](const net::Writer& write) {
      write("{\"type\":\"ADDED\",\"object\":{}}\n");
      test::eventually(10s, [&] { return over.load(); });
    };
    return stream;
  });
  std::stop_source stop;
  std::atomic<bool> watching = false;
  std::jthread watcher([&] {
    const auto end =
        api.client->watch(kNodes, "", {}, stop.get_token(), [&](WatchEventType, Value) {
          watching = true;
          return true;
        });
    CHECK(end.error().is_stopped());
  });
  REQUIRE(test::eventually(5s, [&] { return watching.load(); }));
  CHECK(api.client->get(kNodes, "", "a", {}));
  stop.request_stop();
  watcher.join();
  over = true;
}

}  // namespace nobs::kube
