#include "agent/serve/api.h"

#include <doctest/doctest.h>

#include <set>

#include "shared/base/strings.h"
#include "tests/unit/agent/serve/reports.h"
#include "tests/unit/agent/serve/schema.h"

using namespace nobs;
using namespace nobs::serve::test;
using json::Value;
using serve::Board;

namespace {

const WallTime kStart{std::chrono::milliseconds(1'000)};

struct Agent {
  Board board{kStart, 4};
  net::Handler handler = serve::api(board, {.node = "node-a"});

  Agent() { board.post(shared(report()), {began(1), turned(1)}); }

  net::Answer ask(const std::string& path, const std::string& header = "",
                  const std::string& value = "", const std::string& method = "GET") const {
    net::Request request;
    request.method = method;
    request.target = "/api/v1alpha1" + path;
    if (!header.empty()) request.headers.set(header, value);
    return handler(request);
  }
  Value get(const std::string& path) const {
    const auto answer = ask(path);
    REQUIRE(answer.status == 200);
    auto value = json::parse(answer.body);
    REQUIRE(value);
    return *value;
  }
  // The detail of the problem.
  std::string refusal(const std::string& path, int status) const {
    const auto answer = ask(path);
    CHECK(answer.status == status);
    CHECK(*answer.headers.find("Content-Type") == "application/problem+json");
    const auto value = json::parse(answer.body);
    REQUIRE(value);
    CHECK((*value)["status"].int_or(0) == status);
    return (*value)["detail"].string_or("");
  }
};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

Value document() { return *json::parse(serve::openapi_json()); }

}  // namespace

TEST_CASE("a device is told in the words of NeuronDevice, and what is not known is absent") {
  const Agent agent;
  const auto device = agent.get("/devices/1");
  CHECK(device["health"].string_or("") == "unhealthy");
  CHECK(device["serialNumber"].string_or("") == "00000000000000a1");
  CHECK(device["faultGeneration"].int_or(0) == 4);
  CHECK(device["recommendedAction"].string_or("") == "ReplaceNode");
  CHECK(device["faults"].items().size() == 1);
  CHECK(device["faults"].items()[0]["firstSeen"].string_or("") == "2026-11-30T12:00:00Z");
  CHECK(device["warnings"].items().at(0)["core"].int_or(-1) == 3);
  CHECK(device["ecc"]["memUncorrected"].int_or(-1) == 0);
  CHECK_FALSE(device["ecc"].contains("memRepairableUncorrected"));
  CHECK(device["power"]["averagePercent"].if_double() == 7.25);
  CHECK(device["device"]["family"].string_or("") == "Trn2");
  CHECK(device["cores"].items().at(0)["counters"]["success"].int_or(0) == 17);
  CHECK(device["readAt"].string_or("") == "2026-11-30T12:00:00.000000Z");
  CHECK_FALSE(device.contains("problem"));

  const auto silent = agent.get("/devices/2");
  CHECK(silent["health"].string_or("") == "unknown");
  CHECK(silent["problem"].string_or("") == "ReadTimeout");
  for (const auto* absent : {"readAt", "serialNumber", "power"})
    CHECK_FALSE(silent.contains(absent));
  CHECK_FALSE(silent["device"].contains("memoryBytes"));
  CHECK(silent["ecc"].members().empty());
}

TEST_CASE("a device that stops answering keeps the time of its last good reading") {
  Agent agent;
  auto later = report(8);
  later.at += std::chrono::seconds(9);
  later.reading.steady += std::chrono::seconds(9);
  later.reading.devices[0].problem = sources::ReadProblem::Timeout;
  agent.board.post(shared(later), {});
  CHECK(agent.get("/devices/0")["readAt"].string_or("") == "2026-11-30T12:00:00.000000Z");
  CHECK(agent.get("/sources")["items"].items().at(0)["problem"].string_or("") == "ReadTimeout");
}

TEST_CASE("every answer has the shape that openapi.json describes") {
  Agent agent;
  const Value described = document();
  for (const auto* path : {"/snapshot", "/devices", "/devices/0", "/devices/1", "/devices/2",
                           "/faults", "/events", "/sources", "/version", "/openapi.json"}) {
    std::string route = std::string("/api/v1alpha1") + path;
    if (route.find("/devices/") != std::string::npos) route = "/api/v1alpha1/devices/{n}";
    const auto& schema = described["paths"][route]["get"]["responses"]["200"]["content"]
                                  ["application/json"]["schema"];
    for (const auto& violation : violations(agent.get(path), schema, described))
      FAIL_CHECK(path << " " << violation);
  }
  const auto bare = Board(kStart);
  const auto answer = serve::api(bare, {.node = "a"})({.target = "/api/v1alpha1/snapshot"});
  CHECK(violations(*json::parse(answer.body), described["components"]["schemas"]["Problem"],
                   described)
            .empty());
}

TEST_CASE("openapi.json and the code name the same routes, parameters and words") {
  const Value described = document();
  std::set<std::string> paths;
  for (const auto& [path, item] : described["paths"].members()) paths.insert(path);
  const auto routes = serve::api_paths();
  CHECK(paths == std::set<std::string>(routes.begin(), routes.end()));
  const auto& schemas = described["components"]["schemas"];
  REQUIRE(schemas["FaultClass"]["enum"].items().size() == api::kFaultClasses);
  for (const auto& word : schemas["FaultClass"]["enum"].items())
    CHECK(api::parse_fault_class(word.string_or("")));
  for (const auto& word : schemas["Action"]["enum"].items())
    CHECK(api::parse_action(word.string_or("")));
  CHECK(schemas["Action"]["enum"].items().size() ==
        static_cast<size_t>(api::Action::Investigate) + 1);
  const Agent agent;
  for (const auto& [path, item] : described["paths"].members()) {
    for (const auto& parameter : item["get"]["parameters"].items()) {
      if (parameter["in"].string_or("") != "query") continue;
      const auto& name = parameter["name"].string_or("");
      const auto below = path.substr(std::string("/api/v1alpha1").size());
      CHECK(has(agent.refusal(below + "?nothing=1", 400), name));
    }
  }
}

TEST_CASE("a snapshot can be of one device, and says the verdict of the node") {
  const Agent agent;
  const auto snapshot = agent.get("/snapshot?device=1");
  CHECK(snapshot["devices"].items().size() == 1);
  CHECK(snapshot["health"].string_or("") == "unhealthy");
  CHECK(snapshot["version"].int_or(0) == 7);
  CHECK(snapshot["driver"]["state"].string_or("") == "live");
  CHECK(snapshot["node"].string_or("") == "node-a");
  CHECK_FALSE(snapshot.contains("instanceID"));
}

TEST_CASE("a snapshot that the caller has is 304, and that of another run is not") {
  Agent agent;
  const auto first = agent.ask("/snapshot");
  const std::string etag = *first.headers.find("ETag");
  CHECK(has(etag, "\"7-"));
  for (const auto& given : {etag, "W/" + etag, "\"x\", " + etag, std::string("*")}) {
    const auto same = agent.ask("/snapshot", "If-None-Match", given);
    CHECK(same.status == 304);
    CHECK(same.body.empty());
    CHECK(*same.headers.find("ETag") == etag);
  }
  auto other_run = report(7);
  other_run.at += std::chrono::seconds(1);
  agent.board.post(shared(other_run), {});
  CHECK(agent.ask("/snapshot", "If-None-Match", etag).status == 200);
}

TEST_CASE("a long poll answers at once unless the caller has the newest version") {
  const Agent agent;
  CHECK_FALSE(agent.ask("/snapshot?since=6&wait=60").stream);
  CHECK_FALSE(agent.ask("/snapshot?since=900&wait=60").stream);  // of an earlier run
  CHECK_FALSE(agent.ask("/snapshot?since=7&wait=0").stream);
  CHECK_FALSE(agent.ask("/snapshot?wait=60").stream);
  CHECK(agent.ask("/snapshot?since=7&wait=60").stream);
}

TEST_CASE("faults are filtered by device, class and severity") {
  const Agent agent;
  CHECK(agent.get("/faults")["items"].items().size() == 2);
  CHECK(agent.get("/faults")["items"].items()[0]["device"].int_or(-1) == 1);
  CHECK(agent.get("/faults?device=0")["items"].items().empty());
  CHECK(agent.get("/faults?severity=Warning")["items"].items().size() == 1);
  CHECK(agent.get("/faults?class=HBMUncorrectable&device=1")["items"].items().size() == 1);
  CHECK(agent.get("/faults?class=DMAAbort")["items"].items().empty());
  CHECK(has(agent.refusal("/faults?severity=fatal", 400), "Fatal, Warning"));
  CHECK(has(agent.refusal("/faults?class=", 400), "class"));
}

TEST_CASE("the ring of events is a list for who does not ask for a stream") {
  Agent agent;
  auto events = agent.get("/events");
  CHECK(events["lastEventId"].int_or(0) == 1'002);
  CHECK_FALSE(events["reset"].bool_or(true));
  REQUIRE(events["items"].items().size() == 2);
  CHECK(events["items"].items()[0]["message"].string_or("") ==
        "neuron1: HBMUncorrectable began: mem_ecc_uncorrected 0 -> 1");
  CHECK(events["items"].items()[1]["to"].string_or("") == "unhealthy");
  CHECK(agent.get("/events?lastEventId=1001")["items"].items().size() == 1);
  CHECK(agent.get("/events?lastEventId=1002")["items"].items().empty());
  // What has left the ring, and what was never ours.
  for (int i = 0; i < 4; ++i) agent.board.post(shared(report(8)), {began(0)});
  for (const auto* id : {"1001", "999999"}) {
    events = agent.get(std::string("/events?lastEventId=") + id);
    CHECK(events["reset"].bool_or(false));
    CHECK(events["items"].items().size() == 4);
  }
  CHECK_FALSE(agent.get("/events?lastEventId=1002")["reset"].bool_or(true));
}

TEST_CASE("what is not asked for correctly is refused with what is accepted") {
  const Agent agent;
  CHECK(has(agent.refusal("/snapshot?devise=1", 400), "accepted are: device, since, wait"));
  CHECK(has(agent.refusal("/devices?a", 400), "none is accepted here"));
  CHECK(has(agent.refusal("/snapshot?device=256", 400), "0 to 255"));
  for (const auto* value : {"", "-1", "+1", "1.0", "0x1", "01", "99999999999999999999", "%31%00"})
    agent.refusal(std::string("/snapshot?device=") + value, 400);
  CHECK(has(agent.refusal("/snapshot?device=1&device=1", 400), "more than once"));
  CHECK(has(agent.refusal("/snapshot?device=%zz", 400), "percent-encoded"));
  CHECK(has(agent.refusal("/snapshot?wait=61", 400), "0 to 60"));
  CHECK(agent.ask("/snapshot?device=%31").status == 200);
  CHECK(has(agent.refusal("/snapshot?device=9", 404), "no device 9"));
  CHECK(has(agent.refusal("/faults?device=9", 404), "no device 9"));
  CHECK(has(agent.refusal("/devices/9", 404), "no device 9"));
  agent.refusal("/snapshot?" + std::string(15'000, 'a'), 400);
  CHECK(agent.ask("/events", "Last-Event-ID", "x").status == 400);
  // What was asked comes back printable and short.
  CHECK(has(agent.refusal("/snapshot?a%1b%0d%0ab=1", 400), "a\\x1b\\x0d\\x0ab"));
}

TEST_CASE("only the paths as they are written match a route") {
  const Agent agent;
  CHECK(has(agent.refusal("/nothing", 404), "/api/v1alpha1/devices/{n}"));
  for (const auto* path : {"",
                           "/",
                           "//snapshot",
                           "/snapshot/",
                           "/Snapshot",
                           "/snap%73hot",
                           "/../v1alpha1/snapshot",
                           "/devices/",
                           "/devices/../snapshot",
                           "/devices/1/",
                           "/devices/1/x",
                           "/devices/01",
                           "/devices/+1",
                           "/devices/1%00",
                           "/devices/{n}",
                           "/openapi.json/",
                           "x/snapshot",
                           "/snapshot#x",
                           "/snapshot;x",
                           "/devices/99999999999999999999"})
    agent.refusal(path, 404);
}

TEST_CASE("other methods are refused with what is allowed") {
  const Agent agent;
  for (const auto* method : {"POST", "DELETE", "PATCH", "OPTIONS", "TRACE"}) {
    const auto answer = agent.ask("/snapshot", "", "", method);
    CHECK(answer.status == 405);
    CHECK(*answer.headers.find("Allow") == "GET, HEAD");
  }
  CHECK(agent.ask("/snapshot", "", "", "HEAD").status == 200);
}

TEST_CASE("before the first cycle there is nothing to show but versions") {
  const Board board(kStart);
  const auto handler = serve::api(board, {.node = "node-a"});
  const auto status = [&](const std::string& path) {
    return handler({.target = "/api/v1alpha1" + path}).status;
  };
  for (const auto* path : {"/snapshot", "/devices", "/devices/0", "/faults", "/sources"})
    CHECK(status(path) == 503);
  for (const auto* path : {"/version", "/events", "/openapi.json"}) CHECK(status(path) == 200);
}

TEST_CASE("text from the node is valid JSON, whatever is in it") {
  Board board(kStart);
  auto odd = report();
  odd.memory.slots[2].message = "a\x1b[31m\xff\"\n";
  odd.reading.devices[2].problem_detail = std::string("\0\x01", 2);
  board.post(shared(odd), {});
  const auto answer = serve::api(board, {.node = "node-a"})({.target = "/api/v1alpha1/devices/2"});
  const auto value = json::parse(answer.body);
  REQUIRE(value);
  CHECK((*value)["message"].string_or("") == "a\x1b[31m\xef\xbf\xbd\"\n");
}
