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
      // The object does not hold core counters. Without a person's word they count from zero, as on the first day, but for
      // what an active fault stands for: a rise while no agent ran is not lost.
      slot.baseline_from_first_reading = !device.acknowledge.empty();
      slot.generation = device.generation;
      for (const auto& fault : slot.faults)
        slot.generation = std::max(slot.generation, fault.generation);
      memory.generation = std::max(memory.generation, slot.generation);
    }
    memory.slots[device.index] = std::move(slot);
  }
  return memory;
}

namespace {

void absorb_slot(SlotMemory& slot, const SlotMemory& restored) {
  if (!slot.serial.empty() && !restored.serial.empty() && slot.serial != restored.serial)
    return;  // another part by now
  for (const auto& fault : restored.faults) {
    const auto same =
        std::find_if(slot.faults.begin(), slot.faults.end(), [&](const api::Fault& found) {
          return found.fault == fault.fault && found.epoch == fault.epoch;
        });
    if (same == slot.faults.end()) {
      slot.faults.push_back(fault);
    } else {
      // The same fault, seen anew because the baseline was not known: it is the old one.
      *same = fault;
    }
  }
  for (const auto& [counter, value] : restored.baseline) {
    auto& known = slot.baseline[counter];
    known = std::max(known, value);
  }
  if (slot.serial.empty()) slot.serial = restored.serial;
  const bool fatal = std::any_of(slot.faults.begin(), slot.faults.end(), [](const auto& fault) {
    return fault.severity == api::Severity::Fatal;
  });
  // The next judgement says what it is now; until then it is what it was.
  if (restored.since != WallTime{} && (fatal || slot.health == restored.health)) {
    slot.health = restored.health;
    slot.reason = restored.reason;
    slot.message = restored.message;
    slot.since = restored.since;
  }
}

}  // namespace

void absorb(Memory& memory, const Memory& restored) {
  if (restored.generation > 0) {
    for (auto& [index, slot] : memory.slots) {
      for (auto& fault : slot.faults) {
        if (fault.severity == api::Severity::Fatal) fault.generation += restored.generation;
      }
    }
    memory.generation += restored.generation;
  }
  for (const auto& [index, slot] : restored.slots) {
    const auto [found, fresh] = memory.slots.try_emplace(index, slot);
    if (!fresh) absorb_slot(found->second, slot);
  }
}

}  // namespace nobs::health
