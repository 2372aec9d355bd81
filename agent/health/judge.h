// evidence × previous verdict × time → verdict: a pure function over the fault table.
//
// For the agent's main loop, once for each reading. No I/O, no clock of its own; not thread-safe (one loop owns the
// memory).
//
//   health::Memory memory = health::restore(own_devices);
//   auto judged = health::judge(memory, reading, options);
//   memory = std::move(judged.memory);  // judged.changes tell what is new; publish memory's slots
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "agent/health/memory.h"
#include "agent/sources/reading.h"

namespace nobs::health {

struct Options {
  std::chrono::nanoseconds quiet_time = std::chrono::minutes(5);          // for Clear::…Quiet
  std::chrono::nanoseconds unreachable_after = std::chrono::seconds(30);  // design section 4
  std::chrono::nanoseconds missing_after =
      std::chrono::seconds(10);  // devices appear one by one while the driver loads
  std::chrono::nanoseconds stalled_after =
      std::chrono::seconds(60);  // and 20 learnt heartbeat periods
  std::chrono::nanoseconds fallen_after =
      std::chrono::minutes(10);  // longer than any reset (480 s)
};

struct Change {
  enum class Kind { FaultBegan, FaultRepeated, FaultCleared, HealthChanged } kind;
  int device = 0;
  api::Fault fault;        // of a fault's change
  std::string cleared_by;  // FaultCleared: "Replaced", "Acknowledged", "NewEpoch", "Quiet", "Whole"
  api::Health from = api::Health::Unknown, to = api::Health::Unknown;  // of HealthChanged
};

struct Judged {
  Memory memory;
  std::vector<Change> changes;
  // A sign waits for its second reading: the next cycle should come at once, not after the interval.
  bool recheck = false;
};

Judged judge(Memory memory, const sources::NodeReading& reading, const Options& options);

// A person says that the faults of this device up to `generation` are dealt with.
std::vector<Change> acknowledge(Memory& memory, int device, std::int64_t generation);

// The signals this device gives: green with few of them says less.
std::vector<std::string> capabilities(const sources::DeviceReading& device,
                                      const std::string& driver_version);

}  // namespace nobs::health
