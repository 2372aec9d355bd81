#include "agent/health/memory.h"

#include <algorithm>

namespace nobs::health {

Memory restore(const std::vector<api::NeuronDevice>& devices) {
  Memory memory;
  for (const auto& device : devices) {
    SlotMemory slot;
    slot.serial = device.serial;
    if (device.has_status) {
      slot.epoch = device.epoch;
      slot.faults = device.faults;
      slot.faults.insert(slot.faults.end(), device.warnings.begin(), device.warnings.end());
      slot.health = device.health;
      slot.reason = device.reason;
      slot.message = device.message;
      slot.since = device.since;
      const auto known = [&](std::string_view name, const std::optional<std::int64_t>& value) {
        if (value && *value >= 0) slot.baseline.emplace(name, static_cast<std::uint64_t>(*value));
      };
      known("sram_ecc_uncorrected", device.ecc.sram_uncorrected);
      known("mem_ecc_uncorrected", device.ecc.memory_uncorrected);
      known("mem_ecc_repairable_uncorrected", device.ecc.memory_repairable_uncorrected);
      // The object does not hold core counters. Without a person's word they count from zero, as on the first day: a rise
      // while no agent ran is not lost, and one that is known already only finds its own fault.
      slot.baseline_from_first_reading = !device.acknowledge.empty();
      memory.generation = std::max(memory.generation, device.generation);
      for (const auto& fault : slot.faults)
        memory.generation = std::max(memory.generation, fault.generation);
    }
    memory.slots[device.index] = std::move(slot);
  }
  return memory;
}

}  // namespace nobs::health
