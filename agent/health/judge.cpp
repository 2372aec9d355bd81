#include "agent/health/judge.h"

#include <algorithm>

#include "agent/health/signs.h"
#include "shared/base/strings.h"

namespace nobs::health {
namespace {

using api::Fault;
using api::FaultClass;
using api::Health;
using api::Severity;
using sources::DeviceReading;
using sources::DriverState;
using sources::NodeReading;
using sources::ReadProblem;

bool has(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

constexpr std::uint64_t kMaxIncrease = 1'000'000'000;

std::chrono::nanoseconds lasting(FaultClass fault, const Options& options) {
  return fault == FaultClass::DeviceMissing ? options.missing_after : options.unreachable_after;
}

// Judges one slot; the device may be absent from the reading.
class SlotJudge {
 public:
  SlotJudge(int index, SlotMemory& slot, const NodeReading& reading, const Options& options,
            Judged& out)
      : index_(index), slot_(slot), reading_(reading), options_(options), out_(out) {}

  void present(const DeviceReading& device);
  void absent(bool driver_live);

 private:
  struct Verdict {
    Health health;
    std::string reason, message;
  };

  void begin_part(const DeviceReading& device);
  void begin_epoch();
  void consider(const std::vector<Sign>& signs);
  void add_fault(FaultClass fault, const std::vector<const Sign*>& signs);
  void clear_faults(const DeviceReading* device);
  bool is_clear(const Fault& fault, const DeviceReading* device) const;
  void follow_heartbeat(const DeviceReading& device, std::vector<Sign>& signs);
  bool follow_fall(bool fell, bool readable, const DeviceReading& device);
  std::int64_t next_generation() { return slot_.generation = ++out_.memory.generation; }
  std::optional<Verdict> why_unknown(const DeviceReading& device, const Signs& signs,
                                     bool fell) const;
  void conclude(std::optional<Verdict> unknown);

  int index_;
  SlotMemory& slot_;
  const NodeReading& reading_;
  const Options& options_;
  Judged& out_;
};

// Another serial in the slot: what the old part did is over with it.
void SlotJudge::begin_part(const DeviceReading& device) {
  if (!device.serial_stable || device.serial.empty() || reads_all_ones(device)) return;
  if (!slot_.serial.empty() && slot_.serial != device.serial) {
    for (const auto& fault : slot_.faults) {
      out_.changes.push_back({Change::Kind::FaultCleared, index_, fault, "Replaced", {}, {}});
    }
    SlotMemory fresh;
    fresh.health = slot_.health;
    fresh.reason = slot_.reason;
    fresh.message = slot_.message;
    fresh.since = slot_.since;
    fresh.generation = slot_.generation;
    slot_ = std::move(fresh);
  }
  slot_.serial = device.serial;
}

// Counters of another epoch cannot be compared. Those of the firmware may survive a reload of the driver, so their
// baselines stay and only their fall is accepted; the driver's own start from zero.
void SlotJudge::begin_epoch() {
  if (slot_.epoch == reading_.epoch) return;
  const bool first = slot_.epoch.empty();
  slot_.epoch = reading_.epoch;
  if (first) return;
  std::erase_if(slot_.baseline,
                [](const auto& entry) { return entry.first.find('/') != std::string::npos; });
  slot_.baseline_from_first_reading = false;
  slot_.pending.clear();
  slot_.heartbeat.reset();
  slot_.heartbeat_period = {};
  slot_.fell_since.reset();
  slot_.accept_fall = true;
}

void SlotJudge::consider(const std::vector<Sign>& signs) {
  std::map<FaultClass, std::vector<const Sign*>> by_class;
  for (const auto& sign : signs) by_class[sign.fault].push_back(&sign);
  // A sign that was not there this time starts anew next time: two readings in a row must agree.
  std::erase_if(slot_.pending, [&](const auto& entry) { return !by_class.contains(entry.first); });
  for (const auto& [fault, list] : by_class) {
    const FaultRule& rule = rule_of(fault);
    slot_.sign_last_seen[fault] = reading_.steady;
    auto [entry, fresh] = slot_.pending.try_emplace(fault, Pending{reading_.steady, 0});
    Pending& pending = entry->second;
    ++pending.readings;
    bool confirmed = false;
    if (rule.confirm == Confirm::TwoReadings) {
      const bool two_witnesses = std::any_of(list.begin(), list.end(), [&](const Sign* sign) {
        return sign->witness != list.front()->witness;
      });
      confirmed = pending.readings >= 2 || two_witnesses;
      if (!confirmed) out_.recheck = true;
    } else {
      confirmed = reading_.steady - pending.since >= lasting(fault, options_);
    }
    if (confirmed) add_fault(fault, list);
  }
}

void SlotJudge::add_fault(FaultClass fault_class, const std::vector<const Sign*>& signs) {
  const FaultRule& rule = rule_of(fault_class);
  std::uint64_t increase = 0;
  for (const Sign* sign : signs) {
    increase = std::max(increase, sign->increase);
    if (!sign->counter.empty()) slot_.baseline[sign->counter] = sign->value;
  }
  // A counter near 2^64 is no count; a sum of such would overflow.
  const auto counted = static_cast<std::int64_t>(std::min(increase, kMaxIncrease));
  const auto existing =
      std::find_if(slot_.faults.begin(), slot_.faults.end(),
                   [&](const Fault& fault) { return fault.fault == fault_class; });
  const auto note_witnesses = [&](Fault& fault) {
    for (const Sign* sign : signs) {
      if (!has(fault.witnesses, to_string(sign->witness)))
        fault.witnesses.emplace_back(to_string(sign->witness));
    }
  };
  if (existing != slot_.faults.end()) {
    Fault& fault = *existing;
    note_witnesses(fault);
    fault.last_seen = reading_.at;
    // A state that lasts is not another occurrence, not even beyond a reload where only another part can end it.
    const bool anew =
        fault.epoch != reading_.epoch && (counted > 0 || rule.clears != Clear::OtherSerial);
    if (counted == 0 && !anew) return;
    fault.count += std::max<std::int64_t>(1, counted);
    if (anew) {
      // The same part failed again after a reboot: a new generation, which no earlier override covers. One entry for each
      // class, so that the list stays short however often the driver is loaded.
      fault.epoch = reading_.epoch;
      if (fault.severity == Severity::Fatal) fault.generation = next_generation();
    }
    out_.changes.push_back({Change::Kind::FaultRepeated, index_, fault, {}, {}, {}});
    return;
  }
  Fault fault;
  fault.fault = fault_class;
  fault.severity = rule.severity;
  fault.serial = slot_.serial;
  fault.epoch = reading_.epoch;
  fault.first_seen = reading_.at;
  fault.last_seen = reading_.at;
  fault.count = std::max<std::int64_t>(1, counted);
  fault.core = signs.front()->core;
  note_witnesses(fault);
  fault.verified = true;
  fault.action = rule.action;
  fault.message = std::string(rule.meaning) + " Seen: " + signs.front()->detail + ".";
  if (fault_class == FaultClass::HBMUncorrectable &&
      !version_at_least(reading_.driver_version, 2, 28)) {
    fault.message += " This driver does not tell whether it is repairable.";
  }
  if (fault.severity == Severity::Fatal) fault.generation = next_generation();
  slot_.faults.push_back(fault);
  out_.changes.push_back({Change::Kind::FaultBegan, index_, std::move(fault), {}, {}, {}});
}

bool SlotJudge::is_clear(const Fault& fault, const DeviceReading* device) const {
  const bool readable = device && slot_.readable_since.has_value();
  const auto quiet = [&] {
    const auto seen = slot_.sign_last_seen.find(fault.fault);
    const bool sign_quiet =
        seen == slot_.sign_last_seen.end() || reading_.steady - seen->second >= options_.quiet_time;
    return readable && sign_quiet && reading_.steady - *slot_.readable_since >= options_.quiet_time;
  };
  switch (rule_of(fault.fault).clears) {
    case Clear::OtherSerial:
      return false;  // begin_part and acknowledge do it
    case Clear::NewEpochAndZero:
      // Zeros after more than zero are a reset, not a repair.
      return readable && fault.epoch != reading_.epoch && !slot_.fell_since &&
             device->ecc.memory_uncorrected == 0U &&
             device->ecc.memory_repairable_uncorrected == 0U;
    case Clear::NewEpochAndReady:
      return readable && fault.epoch != reading_.epoch && device->state.value_or(1) == 1;
    case Clear::CountWhole:
      return device && (reading_.expected_devices == 0 ||
                        static_cast<int>(reading_.devices.size()) >= reading_.expected_devices);
    case Clear::ReadableQuiet:
    case Clear::SignGoneQuiet:
      return quiet();
    case Clear::SignGone:
      return !slot_.pending.contains(fault.fault);
  }
  return false;
}

void SlotJudge::clear_faults(const DeviceReading* device) {
  std::erase_if(slot_.faults, [&](const Fault& fault) {
    if (!is_clear(fault, device)) return false;
    const Clear rule = rule_of(fault.fault).clears;
    const char* by = rule == Clear::CountWhole ? "Whole"
                     : rule == Clear::NewEpochAndZero || rule == Clear::NewEpochAndReady
                         ? "NewEpoch"
                         : "Quiet";
    out_.changes.push_back({Change::Kind::FaultCleared, index_, fault, by, {}, {}});
    return true;
  });
}

void SlotJudge::follow_heartbeat(const DeviceReading& device, std::vector<Sign>& signs) {
  if (!device.heartbeat) {
    slot_.heartbeat.reset();
    return;
  }
  if (slot_.heartbeat != device.heartbeat) {
    // The first value says nothing about the period.
    if (slot_.heartbeat) {
      // A pause as long as a stall was one: learnt as a period, it would hide the next.
      slot_.heartbeat_period =
          std::max(slot_.heartbeat_period,
                   std::min<std::chrono::nanoseconds>(reading_.steady - slot_.heartbeat_moved,
                                                      options_.stalled_after));
    }
    slot_.heartbeat = device.heartbeat;
    slot_.heartbeat_moved = reading_.steady;
    return;
  }
  // A heartbeat that was never seen to move may belong to a firmware that has none.
  if (slot_.heartbeat_period.count() == 0) return;
  const auto still = reading_.steady - slot_.heartbeat_moved;
  if (still < options_.stalled_after || still < slot_.heartbeat_period * 20) return;
  signs.push_back({FaultClass::FirmwareStalled,
                   Witness::HeartbeatStill,
                   {},
                   0,
                   "heartbeat stays at " + std::to_string(*device.heartbeat),
                   {},
                   0});
}

// A fall of an ECC counter is a reset in progress, until it has lasted longer than any reset or the driver was loaded
// anew. True: do not believe it.
bool SlotJudge::follow_fall(bool fell, bool readable, const DeviceReading& device) {
  if (!fell) {
    slot_.fell_since.reset();
    if (readable) slot_.accept_fall = false;
    return false;
  }
  if (!readable) return true;
  if (!slot_.fell_since) slot_.fell_since = reading_.steady;
  const bool lasted = reading_.steady - *slot_.fell_since >= options_.fallen_after;
  if (!slot_.accept_fall && !lasted) return true;
  const auto rebase = [&](std::string_view name, const std::optional<std::uint64_t>& value) {
    const auto found = slot_.baseline.find(name);
    // In a new epoch the counter began at zero, so what it shows now has happened since.
    if (value && found != slot_.baseline.end() && *value < found->second)
      found->second = slot_.accept_fall ? 0 : *value;
  };
  rebase("sram_ecc_uncorrected", device.ecc.sram_uncorrected);
  rebase("mem_ecc_uncorrected", device.ecc.memory_uncorrected);
  rebase("mem_ecc_repairable_uncorrected", device.ecc.memory_repairable_uncorrected);
  slot_.fell_since.reset();
  slot_.accept_fall = false;
  return false;
}

std::optional<SlotJudge::Verdict> SlotJudge::why_unknown(const DeviceReading& device,
                                                         const Signs& signs, bool fell) const {
  if (signs.all_ones)
    return Verdict{Health::Unknown, "ValueImplausible", "registers read all ones"};
  if (device.reported_unreachable) {
    return Verdict{Health::Unknown, "ValueImplausible", "the driver reports device_unreachable"};
  }
  if (device.state == 0)
    return Verdict{Health::Unknown, "DeviceResetting", "a device reset is in progress"};
  if (!device.serial_stable) {
    return Verdict{Health::Unknown, "ValueImplausible",
                   "the serial number could not be read; a reset may be in progress"};
  }
  if (fell)
    return Verdict{Health::Unknown, "ValueImplausible", "an ECC counter reads less than it did"};
  if (slot_.pending.contains(FaultClass::FirmwareStalled)) {
    return Verdict{Health::Unknown, "FirmwareStalled", "the firmware's heartbeat does not move"};
  }
  return std::nullopt;
}

void SlotJudge::conclude(std::optional<Verdict> unknown) {
  Verdict verdict{Health::Healthy, "Healthy", "no fault"};
  if (unknown) verdict = std::move(*unknown);
  const Fault* worst = nullptr;
  for (const auto& fault : slot_.faults) {
    if (fault.severity == Severity::Fatal && fault.verified &&
        (!worst || fault.generation > worst->generation)) {
      worst = &fault;
    }
  }
  // A fault outlasts the view of its device: being unable to look does not heal.
  if (worst) verdict = {Health::Unhealthy, std::string(to_string(worst->fault)), worst->message};
  if (verdict.health != slot_.health || slot_.since == WallTime{}) {
    if (verdict.health != slot_.health) {
      out_.changes.push_back({Change::Kind::HealthChanged,
                              index_,
                              worst ? *worst : Fault{},
                              {},
                              slot_.health,
                              verdict.health});
    }
    slot_.since = reading_.at;
  }
  slot_.health = verdict.health;
  slot_.reason = std::move(verdict.reason);
  slot_.message = std::move(verdict.message);
}

void SlotJudge::present(const DeviceReading& device) {
  if (device.problem != ReadProblem::None) {
    // Nothing was read, so nothing is concluded: signs that waited for a second reading wait on.
    slot_.readable_since.reset();
    slot_.heartbeat.reset();  // how long it stood still is not known
    slot_.pending.erase(FaultClass::DeviceMissing);
    clear_faults(nullptr);
    conclude(
        Verdict{Health::Unknown, std::string(to_string(device.problem)), device.problem_detail});
    return;
  }
  begin_part(device);
  begin_epoch();
  Signs signs = find_signs(device, slot_, reading_.driver_version);
  const bool readable =
      device.serial_stable && !signs.all_ones && !device.reported_unreachable && device.state != 0;
  const bool fell = follow_fall(signs.ecc_fell, readable, device);
  if (!readable) {
    slot_.readable_since.reset();
  } else if (!slot_.readable_since) {
    slot_.readable_since = reading_.steady;
  }
  if (readable) {
    follow_heartbeat(device, signs.list);
  } else {
    slot_.heartbeat.reset();
  }
  for (const auto& name : signs.unknown_components) {
    signs.list.push_back({FaultClass::UnverifiedReport,
                          Witness::ComponentUnknown,
                          {},
                          0,
                          "unhealthy component \"" + name + "\", which this version does not know",
                          {},
                          0});
  }
  if (readable && !fell) {
    for (const auto& [name, value] : signs.baselines) slot_.baseline[name] = value;
    slot_.baseline_from_first_reading = false;
  }
  consider(signs.list);
  slot_.last = device;
  clear_faults(&device);
  conclude(why_unknown(device, signs, fell));
}

void SlotJudge::absent(bool driver_live) {
  slot_.readable_since.reset();
  slot_.heartbeat.reset();
  if (!driver_live) {
    slot_.pending.clear();
    const bool unloading = reading_.driver == DriverState::Unloading;
    conclude(Verdict{
        Health::Unknown, unloading ? "DriverUnloading" : "DriverNotLoaded",
        unloading ? "the Neuron driver is being unloaded" : "the Neuron driver is not loaded"});
    return;
  }
  consider({{FaultClass::DeviceMissing,
             Witness::DeviceAbsent,
             {},
             0,
             "the driver shows " + std::to_string(reading_.devices.size()) + " of " +
                 std::to_string(std::max<size_t>(static_cast<size_t>(reading_.expected_devices),
                                                 out_.memory.slots.size())) +
                 " devices",
             {},
             0}});
  clear_faults(nullptr);
  conclude(Verdict{Health::Unknown, "NotYetRead", "the driver does not show this device"});
}

}  // namespace

Judged judge(Memory memory, const NodeReading& reading, const Options& options) {
  Judged out;
  out.memory = std::move(memory);
  const bool live = reading.driver == DriverState::Live;
  if (live) out.memory.seen_driver = true;
  std::map<int, const DeviceReading*> present;
  for (const auto& device : reading.devices) present[device.index] = &device;
  for (const auto& [index, device] : present) out.memory.slots.try_emplace(index);
  // Slots that the instance type has and nobody has seen yet; without a driver they are unknown, not missing.
  for (int index = 0; index < reading.expected_devices; ++index)
    out.memory.slots.try_emplace(index);
  for (auto& [index, slot] : out.memory.slots) {
    SlotJudge judge_slot(index, slot, reading, options, out);
    const auto found = present.find(index);
    if (live && found != present.end()) {
      judge_slot.present(*found->second);
    } else {
      judge_slot.absent(live);
    }
  }
  return out;
}

std::vector<Change> acknowledge(Memory& memory, int device, std::int64_t generation) {
  std::vector<Change> changes;
  const auto found = memory.slots.find(device);
  if (found == memory.slots.end()) return changes;
  std::erase_if(found->second.faults, [&](const Fault& fault) {
    if (fault.severity != Severity::Fatal || fault.generation > generation) return false;
    changes.push_back({Change::Kind::FaultCleared, device, fault, "Acknowledged", {}, {}});
    return true;
  });
  return changes;
}

std::vector<std::string> capabilities(const DeviceReading& device,
                                      const std::string& driver_version) {
  std::vector<std::string> list;
  const auto add = [&](bool present, const char* name) {
    if (present) list.emplace_back(name);
  };
  const auto core_has = [&](std::string_view name) {
    return !device.cores.empty() && device.cores.front().counters.contains(name);
  };
  add(device.ecc.sram_uncorrected.has_value(), "sram_ecc");
  add(device.ecc.memory_uncorrected.has_value(), "hbm_ecc");
  add(device.ecc.memory_repairable_uncorrected.has_value() &&
          version_at_least(driver_version, 2, 28),
      "hbm_ecc_repairable");
  add(device.ecc.sram_corrected.has_value(), "corrected_ecc");
  add(device.unhealthy_components.has_value(), "unhealthy_components");
  add(device.heartbeat.has_value(), "heartbeat");
  add(device.hw_error_event.has_value(), "hw_error_event");
  add(core_has("hw_hbm_ue_error"), "core_counters");
  add(core_has("hw_hbm_ue_error") && version_at_least(driver_version, 2, 30), "core_counters_live");
  add(device.state.has_value(), "device_state");
  return list;
}

}  // namespace nobs::health
