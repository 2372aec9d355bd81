// Fault classes and what a fault is: the words that agent, operator and the CRD share.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/result.h"
#include "shared/json/value.h"

namespace nobs::api {

enum class FaultClass {
  HBMUncorrectable,
  HBMRepairable,
  SRAMUncorrectable,
  CoreUncorrectable,
  DMAAbort,
  ResetFailed,
  DeviceMissing,
  DeviceUnreachable,
  LinkFault,
  FabricFault,
  FirmwareFault,
  FirmwareStalled,
  CollectivesHang,
  ComputeHang,
  CorrectedErrorStorm,
  CoreLeaked,
  ImpairedEFA,
  UnverifiedReport,
};
inline constexpr int kFaultClasses = 18;
inline constexpr size_t kMaxFaultMessage = 1024;  // bytes; the CRD refuses more

enum class Severity { Fatal, Warning };
enum class Action {
  None,
  ReplaceNode,
  RebootNode,
  ReloadDriver,
  CheckPeers,
  Monitor,
  RestartWorkload,
  CheckFabric,
  Investigate,
};
enum class Health { Healthy, Unhealthy, Unknown };

std::string_view to_string(FaultClass fault);
std::string_view to_string(Severity severity);
std::string_view to_string(Action action);
std::string_view to_string(Health health);        // as in Kubernetes objects: "Healthy"
std::string_view to_lower_string(Health health);  // as in metrics and logs: "healthy"
std::optional<FaultClass> parse_fault_class(std::string_view text);
std::optional<Severity> parse_severity(std::string_view text);
std::optional<Action> parse_action(std::string_view text);
std::optional<Health> parse_health(std::string_view text);

// One fault of one part: (serial, class, epoch).
struct Fault {
  FaultClass fault = FaultClass::UnverifiedReport;
  Severity severity = Severity::Warning;
  std::string serial;  // of the device it happened on; empty when that was not readable
  std::string epoch;
  std::int64_t generation =
      0;  // of the node, counting up: a person's override is for one generation
  WallTime first_seen{}, last_seen{};
  std::int64_t count = 1;
  std::optional<int> core;
  std::vector<std::string> witnesses;
  bool verified = false;
  Action action = Action::None;
  std::string message;
  json::Value workload;  // frozen at first_seen; null: none known

  bool operator==(const Fault&) const = default;
};

json::Value to_json(const Fault& fault);
// Errors name the field. What a newer version may have added is ignored; an unknown class is an error.
Result<Fault> parse_fault(const json::Value& value);

}  // namespace nobs::api
