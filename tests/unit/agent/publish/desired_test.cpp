#include "agent/publish/desired.h"

#include <doctest/doctest.h>

#include "shared/base/rfc3339.h"

using namespace nobs;
using publish::Difference;

namespace {

const WallTime kNow = *parse_rfc3339("2026-11-30T12:00:00.5Z");

api::Fault fault(api::FaultClass fault_class, api::Severity severity, std::int64_t generation) {
  api::Fault made;
  made.fault = fault_class;
  made.severity = severity;
  made.generation = generation;
  made.verified = true;
  made.first_seen = made.last_seen = kNow;
  made.action = api::Action::ReplaceNode;
  made.message = "seen";
  return made;
}

publish::Report report_with(std::vector<api::Fault> faults) {
  publish::Report report;
  report.at = kNow;
  report.restored = true;
  auto& slot = report.memory.slots[3];
  slot.serial = "00112233445566aa";
  slot.health = faults.empty() ? api::Health::Healthy : api::Health::Unhealthy;
  slot.reason = faults.empty() ? "Healthy" : "HBMUncorrectable";
  slot.message = "words";
  slot.since = kNow;
  slot.faults = std::move(faults);
  slot.baseline["mem_ecc_uncorrected"] = 2;
  return report;
}

}  // namespace

TEST_CASE("a slot becomes an object that names its node, its part and its faults, newest first") {
  const auto devices = publish::desired_devices(
      report_with({fault(api::FaultClass::DMAAbort, api::Severity::Fatal, 4),
                   fault(api::FaultClass::ComputeHang, api::Severity::Warning, 0),
                   fault(api::FaultClass::HBMUncorrectable, api::Severity::Fatal, 7)}),
      "node-a", "uid-1");
  REQUIRE(devices.size() == 1);
  const auto& device = devices[0];
  CHECK(device.name == "node-a-neuron3");
  CHECK(device.node_uid == "uid-1");
  CHECK(device.serial == "00112233445566aa");
  CHECK(device.generation == 7);
  REQUIRE(device.faults.size() == 2);
  CHECK(device.faults[0].fault == api::FaultClass::HBMUncorrectable);
  REQUIRE(device.warnings.size() == 1);
  CHECK(device.ecc.memory_uncorrected == 2);
}

TEST_CASE(
    "what is compared is what the server can hold: whole seconds, so that a report equals its own "
    "publication") {
  const auto desired = publish::desired_devices(report_with({}), "node-a", "uid-1")[0];
  json::Value object = api::device_object(desired);
  object["status"] = api::device_status(desired);
  const auto published = api::parse_device(object);
  REQUIRE(published);
  CHECK(publish::difference(desired, *published) == Difference::None);
}

TEST_CASE("a new fault is published now, a counter when there is time") {
  const auto before = publish::desired_devices(report_with({}), "node-a", "uid-1")[0];
  const auto faulty = publish::desired_devices(
      report_with({fault(api::FaultClass::HBMUncorrectable, api::Severity::Fatal, 1)}), "node-a",
      "uid-1")[0];
  CHECK(publish::difference(faulty, before) == Difference::Now);
  auto counted = report_with({});
  counted.memory.slots[3].last.ecc.memory_corrected = 17;
  CHECK(publish::difference(publish::desired_devices(counted, "node-a", "uid-1")[0], before) ==
        Difference::Slow);
  api::NeuronDevice never;
  CHECK(publish::difference(before, never) == Difference::Now);
}

TEST_CASE("the condition's transition time moves only when its status does") {
  const auto current = json::object({{"type", "NeuronDevicesHealthy"},
                                     {"status", "False"},
                                     {"reason", "HBMUncorrectable"},
                                     {"message", "1 of 1"},
                                     {"lastTransitionTime", "2026-11-30T10:00:00Z"}});
  CHECK(publish::condition_patch({"False", "HBMUncorrectable", "1 of 1"}, current, kNow).is_null());
  const auto same_status = publish::condition_patch({"False", "DMAAbort", "2 of 2"}, current, kNow);
  CHECK(same_status["status"]["conditions"].items().at(0)["lastTransitionTime"].string_or("") ==
        "2026-11-30T10:00:00Z");
  const auto other_status = publish::condition_patch({"True", "AllHealthy", "fine"}, current, kNow);
  CHECK(other_status["status"]["conditions"].items().at(0)["lastTransitionTime"].string_or("") ==
        "2026-11-30T12:00:00Z");
  CHECK(other_status["status"]["conditions"].items().size() == 1);
}
