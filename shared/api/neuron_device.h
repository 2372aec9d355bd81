// The NeuronDevice resource: what the agent publishes and the operator decides on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/api/fault.h"
#include "shared/base/clock.h"
#include "shared/base/result.h"
#include "shared/json/value.h"

namespace nobs::api {

struct DeviceFacts {
  std::string name, architecture, instance_type, driver_version;
  int cores = 0;
  std::uint64_t memory_bytes = 0;
  std::string layout = "unknown";
  std::vector<std::string> capabilities;

  bool operator==(const DeviceFacts&) const = default;
};

struct EccCounts {
  std::optional<std::int64_t> sram_uncorrected, memory_uncorrected, memory_repairable_uncorrected;
  std::optional<std::int64_t> sram_corrected, memory_corrected;

  bool operator==(const EccCounts&) const = default;
};

struct NeuronDevice {
  // metadata
  std::string name, uid, resource_version;
  std::string acknowledge;  // the annotation: a generation, or empty
  bool has_managed_fields = false;
  // spec
  std::string node, node_uid, instance_id, serial;
  int index = 0;
  // status
  bool has_status = false;
  Health health = Health::Unknown;
  std::string reason, message;
  WallTime since{};
  std::int64_t generation = 0;  // faultGeneration
  Action action = Action::None;
  DeviceFacts device;
  std::vector<Fault> faults, warnings;
  EccCounts ecc;
  std::string boot_id, epoch;
  WallTime reported{};  // lastReportTime
  std::string traceparent;
};

// Errors name the field; anything a newer agent may have added is ignored.
Result<NeuronDevice> parse_device(const json::Value& object);
// The whole object as it is created; the server keeps the status only when it is patched on its own.
json::Value device_object(const NeuronDevice& device);
// `status` alone, with the condition Healthy whose transition time is `since`.
json::Value device_status(const NeuronDevice& device);

}  // namespace nobs::api
