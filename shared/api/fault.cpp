#include "shared/api/fault.h"

#include <utility>

#include "shared/base/rfc3339.h"
#include "shared/base/strings.h"

namespace nobs::api {
namespace {

constexpr std::array<std::string_view, kFaultClasses> kFaultNames = {
    "HBMUncorrectable", "HBMRepairable",    "SRAMUncorrectable",   "CoreUncorrectable",
    "DMAAbort",         "ResetFailed",      "DeviceMissing",       "DeviceUnreachable",
    "LinkFault",        "FabricFault",      "FirmwareFault",       "FirmwareStalled",
    "CollectivesHang",  "ComputeHang",      "CorrectedErrorStorm", "CoreLeaked",
    "ImpairedEFA",      "UnverifiedReport",
};
constexpr std::array<std::string_view, 2> kSeverityNames = {"Fatal", "Warning"};
constexpr std::array<std::string_view, 9> kActionNames = {
    "None",    "ReplaceNode",     "RebootNode",  "ReloadDriver", "CheckPeers",
    "Monitor", "RestartWorkload", "CheckFabric", "Investigate",
};
constexpr std::array<std::string_view, 3> kHealthNames = {"Healthy", "Unhealthy", "Unknown"};
constexpr std::array<std::string_view, 3> kLowerHealthNames = {"healthy", "unhealthy", "unknown"};

template <typename Enum, size_t N>
std::optional<Enum> find(const std::array<std::string_view, N>& names, std::string_view text) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == text) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

template <typename T>
Error unknown_word(const char* field, const T& value) {
  return invalid(std::string("fault.") + field + ": \"" + printable(value, 60) + "\" is not known");
}

}  // namespace

std::string_view to_string(FaultClass fault) { return kFaultNames.at(static_cast<size_t>(fault)); }
std::string_view to_string(Severity severity) {
  return kSeverityNames.at(static_cast<size_t>(severity));
}
std::string_view to_string(Action action) { return kActionNames.at(static_cast<size_t>(action)); }
std::string_view to_string(Health health) { return kHealthNames.at(static_cast<size_t>(health)); }
std::string_view to_lower_string(Health health) {
  return kLowerHealthNames.at(static_cast<size_t>(health));
}
std::optional<FaultClass> parse_fault_class(std::string_view text) {
  return find<FaultClass>(kFaultNames, text);
}
std::optional<Severity> parse_severity(std::string_view text) {
  return find<Severity>(kSeverityNames, text);
}
std::optional<Action> parse_action(std::string_view text) {
  return find<Action>(kActionNames, text);
}
std::optional<Health> parse_health(std::string_view text) {
  return find<Health>(kHealthNames, text);
}

json::Value to_json(const Fault& fault) {
  json::Array witnesses(fault.witnesses.begin(), fault.witnesses.end());
  json::Value value = json::object({
      {"class", to_string(fault.fault)},
      {"severity", to_string(fault.severity)},
      {"serial", fault.serial},
      {"epoch", fault.epoch},
      {"generation", fault.generation},
      {"firstSeen", format_seconds(fault.first_seen)},
      {"lastSeen", format_seconds(fault.last_seen)},
      {"count", fault.count},
      {"witnesses", std::move(witnesses)},
      {"verified", fault.verified},
      {"action", to_string(fault.action)},
      {"message", utf8(fault.message, kMaxFaultMessage)},
  });
  if (fault.core) value["core"] = *fault.core;
  if (!fault.workload.is_null()) value["workload"] = fault.workload;
  return value;
}

Result<Fault> parse_fault(const json::Value& value) {
  Fault fault;
  const auto fault_class = parse_fault_class(value["class"].string_or(""));
  if (!fault_class) return unknown_word("class", value["class"].string_or(""));
  const auto severity = parse_severity(value["severity"].string_or(""));
  if (!severity) return unknown_word("severity", value["severity"].string_or(""));
  const auto first_seen = parse_rfc3339(value["firstSeen"].string_or(""));
  if (!first_seen) return invalid("fault.firstSeen: " + first_seen.error().message);
  const auto last_seen = parse_rfc3339(value["lastSeen"].string_or(""));
  if (!last_seen) return invalid("fault.lastSeen: " + last_seen.error().message);
  fault.fault = *fault_class;
  fault.severity = *severity;
  fault.serial = value["serial"].string_or("");
  fault.epoch = value["epoch"].string_or("");
  fault.generation = value["generation"].int_or(0);
  fault.first_seen = *first_seen;
  fault.last_seen = *last_seen;
  fault.count = value["count"].int_or(1);
  if (const auto core = value["core"].if_int()) fault.core = static_cast<int>(*core);
  for (const auto& witness : value["witnesses"].items())
    fault.witnesses.push_back(witness.string_or(""));
  fault.verified = value["verified"].bool_or(false);
  fault.action = parse_action(value["action"].string_or("")).value_or(Action::None);
  fault.message = value["message"].string_or("");
  fault.workload = value["workload"];
  return fault;
}

}  // namespace nobs::api
