// What one reading of a device shows against what was known: signs, not yet faults. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/health/memory.h"
#include "agent/sources/reading.h"

namespace nobs::health {

struct Sign {
  api::FaultClass fault;
  Witness witness;
  std::optional<int> core;
  std::uint64_t increase = 0;  // of the counter that rose; 0 for states
  std::string detail;          // "mem_ecc_uncorrected 0 -> 1"
  // The counter and its value, to become the baseline once the sign is a fault; empty for states.
  std::string counter;
  std::uint64_t value = 0;
};

struct Signs {
  std::vector<Sign> list;
  // Where counters count from that had no baseline yet, or that somebody cleared.
  std::vector<std::pair<std::string, std::uint64_t>> baselines;
  bool ecc_fell = false;  // an ECC counter reads less than it did in this epoch
  bool all_ones = false;
  std::vector<std::string>
      unknown_components;  // names that no rule knows: a warning, never a fault
};

// `slot` must be of the same part and epoch as the reading (begin_epoch has been called where they changed).
Signs find_signs(const sources::DeviceReading& device, const SlotMemory& slot,
                 const std::string& driver_version);

bool reads_all_ones(const sources::DeviceReading& device);

// "2.30.2.0" at least 2.28? Unknown versions are not.
bool version_at_least(const std::string& version, int major, int minor);

}  // namespace nobs::health
