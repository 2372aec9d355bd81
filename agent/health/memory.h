// What the judge remembers between two readings. Plain values: a test writes them down, a restart restores them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/health/rules.h"
#include "agent/sources/reading.h"
#include "shared/api/fault.h"
#include "shared/api/neuron_device.h"
#include "shared/base/clock.h"

namespace nobs::health {

// A sign that is not a fault yet.
struct Pending {
  SteadyTime since{};
  int readings = 0;  // in a row
};

struct SlotMemory {
  std::string serial;  // of the part in this slot, once known
  std::string epoch;   // of the baselines below
  // What each counter read when it was last accepted: ECC files by their name, core counters as "<core>/<name>".
  std::map<std::string, std::uint64_t, std::less<>> baseline;
  // Counters that first appear count from zero, unless a person acknowledged what they had counted.
  bool baseline_from_first_reading = false;
  std::map<api::FaultClass, Pending> pending;
  std::map<api::FaultClass, SteadyTime> sign_last_seen;  // for quiet times
  std::vector<api::Fault> faults;                        // active, of both severities
  std::int64_t generation = 0;  // of this slot's newest fatal fault, also when it is gone
  std::optional<int> heartbeat;
  SteadyTime heartbeat_moved{};
  std::chrono::nanoseconds heartbeat_period{};  // longest learnt; zero: none yet
  std::optional<SteadyTime> readable_since;     // with its serial and plausible values
  std::optional<SteadyTime> fell_since;         // an ECC counter reads less than it did
  bool accept_fall = false;     // the driver was loaded anew: a smaller value is the truth
  sources::DeviceReading last;  // for facts while the device cannot be read
  // The verdict
  api::Health health = api::Health::Unknown;
  std::string reason = "NotYetRead", message = "not read yet";
  WallTime since{};
};

struct Memory {
  std::map<int, SlotMemory> slots;
  std::int64_t generation = 0;  // of the newest fatal fault of this node
  bool seen_driver = false;
};

// Active faults, baselines and verdicts from our own published devices: a restart forgets nothing.
Memory restore(const std::vector<api::NeuronDevice>& devices);

// Adds what earlier agents published to what this one has judged meanwhile: nothing of either is lost, and generations of
// faults found meanwhile come after the published ones.
void absorb(Memory& memory, const Memory& restored);

}  // namespace nobs::health
