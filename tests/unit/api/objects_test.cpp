// NeuronDevices, faults, heartbeats, events and names.
#include <doctest/doctest.h>

#include <set>

#include "shared/api/event.h"
#include "shared/api/lease.h"
#include "shared/api/names.h"
#include "shared/api/neuron_device.h"
#include "shared/base/strings.h"

namespace nobs::api {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kNow{std::chrono::seconds(1'796'040'000)};

NeuronDevice full_device() {
  NeuronDevice device;
  device.name = "node-a-neuron3";
  device.node = "node-a";
  device.node_uid = "uid-a";
  device.instance_id = "i-1";
  device.serial = "19fcda00f5ff6eb9";
  device.index = 3;
  device.health = Health::Unhealthy;
  device.reason = "DMAAbort";
  device.message = "a DMA engine stopped";
  device.since = kNow;
  device.generation = 5;
  device.action = Action::ReplaceNode;
  device.device = {"Trainium2",  "NDv3", "trn2.48xlarge", "2.30.2.0", 8,
                   103079215104, "A",    {"hbm_ecc"}};
  Fault fault{FaultClass::DMAAbort,
              Severity::Fatal,
              device.serial,
              "boot-1",
              5,
              kNow,
              kNow + 1s,
              2,
              7,
              {"CoreDmaAbort"},
              true,
              Action::ReplaceNode,
              "stopped",
              json::object({{"pod", "train-0"}})};
  device.faults = {fault};
  fault.fault = FaultClass::ComputeHang;
  fault.severity = Severity::Warning;
  fault.core.reset();
  fault.workload = {};
  device.warnings = {fault};
  device.ecc = {1, 2, 3, 4, std::nullopt};
  device.boot_id = "boot";
  device.epoch = "boot-1";
  device.reported = kNow + 2s;
  device.traceparent = "00-1-2-01";
  return device;
}

json::Value object_of(const NeuronDevice& device) {
  json::Value object = device_object(device);
  object["status"] = device_status(device);
  return object;
}

template <typename Enum, size_t N, typename Parse>
void names_round_trip(const Parse& parse) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < N; ++i) {
    const auto value = static_cast<Enum>(i);
    CHECK(parse(to_string(value)) == value);
    names.insert(to_string(value));
  }
  CHECK(names.size() == N);
  CHECK_FALSE(parse(""));
  CHECK_FALSE(parse("healthy"));
}

}  // namespace

TEST_CASE("every word reads back as what it was written for") {
  names_round_trip<FaultClass, kFaultClasses>(parse_fault_class);
  names_round_trip<Severity, 2>(parse_severity);
  names_round_trip<Action, 9>(parse_action);
  names_round_trip<Health, 3>(parse_health);
  CHECK(to_lower_string(Health::Unknown) == "unknown");
}

TEST_CASE("a device reads back as it was written") {
  const auto device = full_device();
  const auto object = object_of(device);
  const auto parsed = parse_device(object);
  REQUIRE(parsed);
  CHECK(parsed->has_status);
  CHECK(parsed->faults == device.faults);
  CHECK(parsed->warnings == device.warnings);
  CHECK(parsed->ecc == device.ecc);
  CHECK(parsed->device == device.device);
  CHECK(parsed->generation == 5);
  CHECK(parsed->since == device.since);
  CHECK(parsed->reported == device.reported);
  CHECK(json::dump(object_of(*parsed)) == json::dump(object));
}

TEST_CASE("a new device belongs to its node and names it, and has no status") {
  auto device = full_device();
  device.node = std::string(253, 'n');
  const auto object = device_object(device);
  CHECK(object["metadata"]["ownerReferences"].items().front()["uid"].string_or("") == "uid-a");
  CHECK(object["metadata"]["labels"][kNodeLabel].string_or("").size() == 63);
  CHECK_FALSE(parse_device(object)->has_status);
  device.node_uid.clear();  // an owner without a UID would be garbage-collected
  CHECK_FALSE(device_object(device)["metadata"].contains("ownerReferences"));
}

TEST_CASE("the condition of a device moves with its health") {
  auto device = full_device();
  for (const auto& [health, status] : std::vector<std::pair<Health, std::string>>{
           {Health::Healthy, "True"}, {Health::Unhealthy, "False"}, {Health::Unknown, "Unknown"}}) {
    device.health = health;
    const auto status_json = device_status(device);
    const auto& condition = status_json["conditions"].items().front();
    CHECK(condition["status"].string_or("") == status);
    CHECK(condition["lastTransitionTime"] == status_json["since"]);
    CHECK_FALSE(condition["reason"].string_or("").empty());
  }
  device.reason.clear();
  CHECK(device_status(device)["conditions"].items().front()["reason"].string_or("") == "Healthy");
}

TEST_CASE("every missing or wrong field that counts is named") {
  const auto error_of = [](auto&& change) {
    json::Value object = object_of(full_device());
    change(object);
    const auto parsed = parse_device(object);
    return parsed ? std::string("parsed") : parsed.error().message;
  };
  const auto names = [&](const char* field, auto&& change) {
    const auto error = error_of(change);
    CAPTURE(error);
    CHECK(error.find(field) != std::string::npos);
  };
  using V = json::Value;
  names("metadata.name", [](V& o) { o["metadata"].erase("name"); });
  names("spec.nodeName", [](V& o) { o["spec"].erase("nodeName"); });
  for (const V& index : {V(), V("3"), V(-1), V(256), V(4'294'967'299), V(1.5)})
    names("spec.index", [&](V& o) { o["spec"]["index"] = index; });
  names("status.health", [](V& o) { o["status"]["health"] = "Broken"; });
  names("status.since", [](V& o) { o["status"].erase("since"); });
  names("status.lastReportTime", [](V& o) { o["status"]["lastReportTime"] = "now"; });
  const auto fault = [&](const char* list, const char* field, const V& value) {
    names(list, [&](V& o) {
      V changed = o["status"][list].items().front();
      changed[field] = value;
      o["status"][list] = json::array({changed});
    });
  };
  fault("faults", "class", "Melted");
  fault("faults", "severity", V());
  fault("faults", "firstSeen", 5);
  fault("warnings", "lastSeen", "x");
  CHECK(error_of([](V&) {}) == "parsed");
  CHECK_FALSE(parse_device(V("text")));
}

TEST_CASE(
    "what does not count has a safe default: an unknown action is None, an unsaid fault "
    "unverified") {
  json::Value value = to_json(full_device().faults[0]);
  value["action"] = "Reinvent";
  for (const char* field : {"verified", "count", "core", "generation", "witnesses", "message"})
    value.erase(field);
  const auto fault = parse_fault(value);
  REQUIRE(fault);
  CHECK(fault->action == Action::None);
  CHECK_FALSE(fault->verified);
  CHECK(fault->count == 1);
  CHECK_FALSE(fault->core);
  CHECK(fault->generation == 0);
}

TEST_CASE("messages are at most 1,024 bytes of valid UTF-8, whatever goes in") {
  auto device = full_device();
  for (const std::string& text :
       {std::string(5000, 'x'), std::string(3000, '\xff'), "é" + std::string(1022, 'x') + "é"}) {
    device.message = device.faults[0].message = text;
    const auto status = device_status(device);
    for (const auto& message :
         {status["message"].string_or(""), status["conditions"].items()[0]["message"].string_or(""),
          status["faults"].items()[0]["message"].string_or(""),
          event_object({"Warning", "R", "A", text}, kNodes, "a", "u", "c", "i", kNow)["note"]
              .string_or("")}) {
      CHECK(message.size() <= 1024);
      CHECK(message.size() > 1000);
      CHECK(utf8(message, 5000) == message);
    }
  }
}

TEST_CASE("names that fit stay; longer ones are cut, stay distinct and end well") {
  CHECK(device_name("node-a", 12) == "node-a-neuron12");
  CHECK(heartbeat_name("node-a") == "neuron-observer-node-a");
  CHECK(node_label_value("node-a") == "node-a");
  std::set<std::string> names;
  for (const char* end : {"a", "b"}) {
    const std::string node = std::string(230, 'n') + std::string(22, '.') + end;
    for (const int index : {0, 1, 15}) names.insert(device_name(node, index));
    CHECK(device_name(node, 3) == device_name(node, 3));
    CHECK(node_label_value(node).size() <= 63);
    names.insert(heartbeat_name(node));
    names.insert(node_label_value(node));
  }
  CHECK(names.size() == 10);
  for (const auto& name : names) {
    CHECK(name.size() <= 253);
    CHECK(name.find(".-") == std::string::npos);
  }
  CHECK(device_name(std::string(245, 'n'), 0) == std::string(245, 'n') + "-neuron0");
  CHECK(device_name(std::string(246, 'n'), 0).size() == 253);
}

TEST_CASE("a heartbeat is of one node with one UID, and is believed for its duration") {
  const auto object = heartbeat_object("ns", "node-a", "uid-a", kNow + 5us);
  auto parsed = parse_heartbeat(object);
  REQUIRE(parsed);
  CHECK(*parsed == Heartbeat{"neuron-observer-node-a", "node-a", "uid-a", kNow + 5us, 120s});
  CHECK(parsed->alive(kNow + 120s));
  CHECK_FALSE(parsed->alive(kNow + 121s));
  const auto refused = [&](const char* field, const json::Value& value) {
    json::Value other = object;
    other["spec"][field] = value;
    return !parse_heartbeat(other);
  };
  for (const char* holder : {"", "node-a", "_uid", "node-a_"})
    CHECK(refused("holderIdentity", holder));
  CHECK(refused("renewTime", {}));
  CHECK(refused("renewTime", "yesterday"));
  CHECK(refused("leaseDurationSeconds", 0));
  CHECK(refused("leaseDurationSeconds", 3601));
  CHECK_FALSE(refused("leaseDurationSeconds", {}));
}

TEST_CASE("an event is about its object, and has a valid name of its own") {
  const auto event = [](const std::string& name, const char* reason, WallTime when) {
    return event_object({"Warning", reason, "Cordon", "x"}, kNeuronDevices, name, "u", "agent",
                        std::string(200, 'i'), when);
  };
  const auto one = event("node-a-neuron3", "FaultBegan", kNow);
  CHECK(one["regarding"]["apiVersion"].string_or("") == kGroupVersion);
  CHECK(one["regarding"]["name"].string_or("") == "node-a-neuron3");
  CHECK(one["metadata"]["namespace"].string_or("") == "default");
  CHECK(one["reportingInstance"].string_or("").size() == 128);
  const auto name_of = [](const json::Value& object) {
    return object["metadata"]["name"].string_or("");
  };
  CHECK(name_of(one) != name_of(event("node-a-neuron3", "FaultCleared", kNow)));
  CHECK(name_of(one) != name_of(event("node-a-neuron3", "FaultBegan", kNow + 1us)));
  const auto cut = name_of(event(std::string(235, 'n') + "-neuron3", "FaultBegan", kNow));
  CHECK(cut.size() <= 253);
  CHECK(cut.find("-.") == std::string::npos);
  CHECK(event_object({}, kNodes, "a", "u", "c", "i", kNow)["regarding"]["apiVersion"].string_or(
            "") == "v1");
}

}  // namespace nobs::api
