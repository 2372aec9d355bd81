// What each metric of each entity reads now: counters that never fall, gauges that are there or not.
//
// For the telemetry of the main loop. Not thread-safe. Counters follow driver reference section 6: on a fall they go on from
// the new value and add nothing; after another load of the driver, or with another part in the slot, they go on
// adding from zero. A counter of a device that is gone or cannot be read keeps its total, so that a node's sum never
// falls; it is not `present`, so that it shows in no series of its own.
//
//   Meters meters;
//   meters.take(reading);
//   for (const Entity& core : meters.entities(Scope::Core)) use(core.meters[slot_of(metric)]);
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/sources/fabric.h"
#include "agent/sources/reading.h"
#include "agent/sources/system.h"
#include "agent/telemetry/catalogue.h"

namespace nobs::telemetry {

struct Meter {
  std::uint64_t raw = 0;  // of a counter: as last read
  double value = 0;       // of a counter: the total
  bool is_known = false;  // was read at least once
  bool is_present = false;
};

struct Entity {
  int device = -1, core = -1;  // core: among the device's
  int neuroncore = -1;         // core: among the node's physical ones
  int cpu = -1;
  std::string efa_device, efa_port;
  std::vector<Meter> meters;  // by slot_of
};

class Meters {
 public:
  void take(const sources::NodeReading& reading);
  void take(const sources::FabricReading& reading);
  void take(const sources::SystemReading& reading);
  // 1 or 2; nothing: as the device's family has it by default (driver reference, section 2.2).
  void set_logical_core_size(std::optional<int> size) { logical_core_size_ = size; }
  int logical_core_size(const std::string& family) const;

  const std::deque<Entity>& entities(Scope scope) const {
    return entities_[static_cast<size_t>(scope)];
  }

 private:
  // Of one device, between two readings of its telemetry.
  struct DeviceState {
    std::string epoch, serial;
    std::uint64_t telemetry_number = 0;
    SteadyTime telemetry_at{};
    Entity* device = nullptr;
    std::map<int, Entity*> cores;
  };

  Entity& add(Scope scope);
  void take_device(const sources::DeviceReading& device, const std::string& epoch, WallTime now);
  void take_telemetry(const sources::DeviceReading& device, DeviceState& state, bool is_continued);

  std::deque<Entity> entities_[5];  // by scope; addresses stay
  std::map<int, DeviceState> devices_;
  std::map<std::string, Entity*> ports_;
  std::map<int, Entity*> cpus_;
  Entity* system_ = nullptr;
  std::optional<sources::SystemReading> last_system_;
  std::optional<int> logical_core_size_;
};

}  // namespace nobs::telemetry
