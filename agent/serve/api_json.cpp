#include "agent/serve/api_json.h"

#include <algorithm>

#include "agent/health/node_verdict.h"
#include "shared/base/rfc3339.h"
#include "shared/base/strings.h"

namespace nobs::serve {
namespace {

using json::Value;

void set_text(Value& object, std::string_view key, const std::string& text) {
  if (!text.empty()) object[key] = utf8(text, api::kMaxFaultMessage);
}

template <typename T>
void set_known(Value& object, std::string_view key, const std::optional<T>& value) {
  if (value) object[key] = *value;
}

Value words(const std::vector<std::string>& list) { return json::Array(list.begin(), list.end()); }

// Fields that NeuronDevice writes as "" where nothing is known.
Value without_empty(Value object) {
  for (const auto* key : {"serial", "epoch", "message"})
    if (std::as_const(object)[key].string_or("").empty()) object.erase(key);
  return object;
}

Value fault_list(const std::vector<api::Fault>& faults) {
  json::Array list;
  for (const auto& fault : faults) list.push_back(without_empty(to_json(fault)));
  return list;
}

// What is read in each cycle, and what metrics had read last.
Value core_json(const sources::CoreReading& core, const sources::DeviceTelemetry* telemetry) {
  json::Object counters;
  for (const auto& [name, count] : core.counters) counters[name] = count;
  if (telemetry != nullptr) {
    const auto found =
        std::ranges::find(telemetry->cores, core.index, &sources::DeviceTelemetry::Core::index);
    if (found != telemetry->cores.end())
      for (const auto& [name, count] : found->values) counters[std::string(name)] = count;
  }
  Value value = json::object({{"index", core.index}, {"counters", std::move(counters)}});
  set_known(value, "memoryBytes", core.device_memory_bytes);
  return value;
}

Value power_json(const sources::PowerReading& power) {
  return json::object(
      {{"minimumPercent", power.minimum},
       {"maximumPercent", power.maximum},
       {"averagePercent", power.average},
       {"minuteEnded", format_seconds(WallTime(std::chrono::seconds(power.closed_seconds)))}});
}

// This cycle's reading of the device; null: it was not there.
const sources::DeviceReading* current(const Shown& shown, int index) {
  for (const auto& device : shown.report->reading.devices)
    if (device.index == index) return &device;
  return nullptr;
}

void set_reading(const Shown& shown, int index, std::string_view time_key, Value& value) {
  const auto* now = current(shown, index);
  const auto& last = shown.report->memory.slots.at(index).last;
  if (const auto at = shown.read_at.find(index); at != shown.read_at.end())
    value[time_key] = format_micros(at->second);
  if (now == nullptr) {
    value["problem"] = "NotPresent";
  } else if (now->problem != sources::ReadProblem::None) {
    value["problem"] = to_string(now->problem);
    set_text(value, "problemDetail", now->problem_detail);
  }
  const bool is_read = now != nullptr && now->problem == sources::ReadProblem::None;
  value["missing"] = words(is_read ? now->missing : last.missing);
  value["unparsed"] = words(is_read ? now->unparsed : last.unparsed);
}

Value device_json(const Shown& shown, const api::NeuronDevice& device) {
  const auto& last = shown.report->memory.slots.at(device.index).last;
  Value facts = json::object({});
  set_text(facts, "name", device.device.name);
  set_text(facts, "family", last.instance_family);
  set_text(facts, "architecture", device.device.architecture);
  if (device.device.cores > 0) facts["cores"] = device.device.cores;
  if (device.device.memory_bytes > 0) facts["memoryBytes"] = device.device.memory_bytes;
  Value ecc = json::object({});
  set_known(ecc, "sramUncorrected", device.ecc.sram_uncorrected);
  set_known(ecc, "memUncorrected", device.ecc.memory_uncorrected);
  set_known(ecc, "memRepairableUncorrected", device.ecc.memory_repairable_uncorrected);
  set_known(ecc, "sramCorrected", device.ecc.sram_corrected);
  set_known(ecc, "memCorrected", device.ecc.memory_corrected);
  json::Array cores;
  for (const auto& core : last.cores) cores.push_back(core_json(core, last.telemetry.get()));
  Value value = json::object({{"index", device.index},
                              {"health", to_lower_string(device.health)},
                              {"faultGeneration", device.generation},
                              {"recommendedAction", to_string(device.action)},
                              {"faults", fault_list(device.faults)},
                              {"warnings", fault_list(device.warnings)},
                              {"device", std::move(facts)},
                              {"ecc", std::move(ecc)},
                              {"cores", std::move(cores)},
                              {"capabilities", words(device.device.capabilities)}});
  set_text(value, "serialNumber", device.serial);
  set_text(value, "reason", device.reason);
  set_text(value, "message", device.message);
  set_text(value, "epoch", device.epoch);
  if (device.since != WallTime{}) value["since"] = format_seconds(device.since);
  if (last.power && last.power->valid) value["power"] = power_json(*last.power);
  set_reading(shown, device.index, "readAt", value);
  return value;
}

Value driver_json(const sources::NodeReading& reading) {
  Value value = json::object({{"state", to_string(reading.driver)}});
  set_text(value, "version", reading.driver_version);
  value["layout"] = to_string(reading.layout);
  return value;
}

std::string_view health_of(const std::string& condition) {
  return condition == "True" ? "healthy" : condition == "False" ? "unhealthy" : "unknown";
}

}  // namespace

Value devices_json(const Shown& shown, const std::string& node, std::optional<int> device) {
  json::Array list;
  for (const auto& each : publish::desired_devices(*shown.report, node, ""))
    if (!device || each.index == *device) list.push_back(device_json(shown, each));
  return list;
}

Value snapshot_json(const Shown& shown, const std::string& node, std::optional<int> device) {
  const auto& report = *shown.report;
  const auto verdict = health::node_verdict(report.memory);
  Value value = json::object({{"version", report.version},
                              {"at", format_micros(report.at)},
                              {"node", node},
                              {"health", health_of(verdict.status)},
                              {"reason", verdict.reason},
                              {"message", verdict.message},
                              {"driver", driver_json(report.reading)},
                              {"restored", report.restored},
                              {"devices", devices_json(shown, node, device)}});
  set_text(value, "instanceType", report.reading.instance_type);
  set_text(value, "instanceID", report.reading.instance_id);
  set_text(value, "bootID", report.reading.boot_id);
  set_text(value, "epoch", report.reading.epoch);
  if (report.reading.expected_devices > 0)
    value["expectedDevices"] = report.reading.expected_devices;
  return value;
}

Value faults_json(const Shown& shown, const std::string& node, const FaultFilter& filter) {
  const auto devices = publish::desired_devices(*shown.report, node, "");
  json::Array list;
  for (const auto severity : {api::Severity::Fatal, api::Severity::Warning}) {
    if (filter.severity && *filter.severity != severity) continue;
    for (const auto& device : devices) {
      if (filter.device && *filter.device != device.index) continue;
      for (const auto& fault : severity == api::Severity::Fatal ? device.faults : device.warnings) {
        if (filter.fault && *filter.fault != fault.fault) continue;
        Value value = without_empty(to_json(fault));
        value["device"] = device.index;
        list.push_back(std::move(value));
      }
    }
  }
  return list;
}

Value sources_json(const Shown& shown) {
  const auto& report = *shown.report;
  json::Array list;
  for (const auto& [index, slot] : report.memory.slots) {
    const auto* now = current(shown, index);
    Value value = json::object({{"name", "sysfs"},
                                {"device", index},
                                {"layout", to_string(report.reading.layout)},
                                {"layoutConflicts", now ? now->layout_conflicts : 0}});
    set_reading(shown, index, "lastSuccess", value);
    list.push_back(std::move(value));
  }
  return json::object({{"version", report.version},
                       {"at", format_micros(report.at)},
                       {"driver", driver_json(report.reading)},
                       {"items", std::move(list)}});
}

Value event_json(const Event& event) {
  using Kind = health::Change::Kind;
  const auto& change = event.change;
  Value value = json::object({{"id", event.id},
                              {"at", format_micros(event.at)},
                              {"device", change.device},
                              {"message", utf8(event.message, 2 * api::kMaxFaultMessage)}});
  switch (change.kind) {
    case Kind::FaultBegan:
      value["kind"] = "FaultBegan";
      break;
    case Kind::FaultRepeated:
      value["kind"] = "FaultRepeated";
      break;
    case Kind::FaultCleared:
      value["kind"] = "FaultCleared";
      set_text(value, "clearedBy", change.cleared_by);
      break;
    case Kind::HealthChanged:
      value["kind"] = "HealthChanged";
      value["from"] = to_lower_string(change.from);
      value["to"] = to_lower_string(change.to);
      return value;
  }
  value["fault"] = without_empty(to_json(change.fault));
  return value;
}

}  // namespace nobs::serve
