#include "agent/health/signs.h"

#include <algorithm>
#include <array>

#include "shared/base/strings.h"

namespace nobs::health {
namespace {

using api::FaultClass;
using sources::DeviceReading;

constexpr std::uint64_t kAllOnes16 = 65535;

std::string rise(const std::string& counter, std::uint64_t from, std::uint64_t to) {
  return counter + " " + std::to_string(from) + " -> " + std::to_string(to);
}

struct Finder {
  const SlotMemory& slot;
  Signs signs;

  // Where a counter counts from that was never accepted: zero, since a healthy device shows zero. But what led to a
  // fault that is active already, to an acknowledged one, or to a warning before we looked, is not news.
  std::uint64_t first_baseline(FaultClass fault, std::uint64_t value) const {
    const bool is_known = std::any_of(
        slot.faults.begin(), slot.faults.end(),
        [&](const api::Fault& known) { return known.fault == fault && known.epoch == slot.epoch; });
    const bool is_warning = rule_of(fault).severity == api::Severity::Warning;
    return is_known || is_warning || slot.baseline_from_first_reading ? value : 0;
  }

  // Of an ECC counter the judge says when its fall is the truth; any other was cleared by somebody.
  std::uint64_t baseline(FaultClass fault, const std::string& name, std::uint64_t value,
                         bool is_ecc) {
    const auto found = slot.baseline.find(name);
    const std::uint64_t from =
        found == slot.baseline.end() ? first_baseline(fault, value) : found->second;
    if (found == slot.baseline.end()) {
      signs.baselines.emplace_back(name, from);
    } else if (value < from && is_ecc) {
      signs.ecc_fell = true;
    } else if (value < from) {
      signs.baselines.emplace_back(name, value);
    }
    return from;
  }

  void counter(FaultClass fault, Witness witness, const std::string& name,
               const std::optional<std::uint64_t>& value, bool is_ecc,
               std::optional<int> core = {}) {
    if (!value) return;
    const std::uint64_t from = baseline(fault, name, *value, is_ecc);
    if (*value > from)
      signs.list.push_back(
          {fault, witness, core, *value - from, rise(name, from, *value), name, *value});
  }

  void state(FaultClass fault, Witness witness, std::string detail) {
    signs.list.push_back({fault, witness, {}, 0, std::move(detail), {}, 0});
  }
};

void ecc_signs(const DeviceReading& device, const std::string& driver, Finder& find) {
  if (!device.serial_stable || device.serial.empty())
    return;  // a reset reads as zeros, a dead device as ones
  const auto& ecc = device.ecc;
  find.counter(FaultClass::SRAMUncorrectable, Witness::SramUncorrectedRose, "sram_ecc_uncorrected",
               ecc.sram_uncorrected, true);
  find.counter(FaultClass::HBMUncorrectable, Witness::HbmUncorrectedRose, "mem_ecc_uncorrected",
               ecc.memory_uncorrected, true);
  // Drivers before 2.28 mix the two up: there, either file means that repairability is unknown.
  const bool told_apart = version_at_least(driver, 2, 28);
  find.counter(told_apart ? FaultClass::HBMRepairable : FaultClass::HBMUncorrectable,
               told_apart ? Witness::HbmRepairableRose : Witness::HbmUncorrectedRose,
               "mem_ecc_repairable_uncorrected", ecc.memory_repairable_uncorrected, true);
}

void component_signs(const DeviceReading& device, Finder& find) {
  if (!device.unhealthy_components) return;
  for (const auto& name : *device.unhealthy_components) {
    const std::string detail = "unhealthy component " + name;
    if (name == "hbm") {
      find.state(FaultClass::HBMUncorrectable, Witness::ComponentHbm, detail);
    } else if (name == "sram") {
      find.state(FaultClass::SRAMUncorrectable, Witness::ComponentSram, detail);
    } else if (name.starts_with("link_")) {
      find.state(FaultClass::LinkFault, Witness::ComponentLink, detail);
    } else if (name == "axi_fabric") {
      find.state(FaultClass::FabricFault, Witness::ComponentFabric, detail);
    } else if (name.starts_with("firmware_service_")) {
      find.state(FaultClass::FirmwareFault, Witness::ComponentFirmware, detail);
    } else if (name != "device_unreachable") {
      find.signs.unknown_components.push_back(printable(name, 64));
    }
  }
}

void core_signs(const DeviceReading& device, Finder& find) {
  // hw_nc_ue_error comes with SRAM errors too: then it speaks for those.
  const bool sram =
      std::any_of(find.signs.list.begin(), find.signs.list.end(),
                  [](const Sign& sign) { return sign.fault == FaultClass::SRAMUncorrectable; }) ||
      std::any_of(find.slot.faults.begin(), find.slot.faults.end(),
                  [](const api::Fault& f) { return f.fault == FaultClass::SRAMUncorrectable; });
  struct Row {
    std::string_view name;
    FaultClass fault;
    Witness witness;
  };
  const std::array<Row, 6> rows = {{
      {"hw_hbm_ue_error", FaultClass::HBMUncorrectable, Witness::CoreHbmError},
      {"hw_repairable_hbm_ue_error", FaultClass::HBMRepairable, Witness::CoreRepairableHbmError},
      {"hw_nc_ue_error", sram ? FaultClass::SRAMUncorrectable : FaultClass::CoreUncorrectable,
       Witness::CoreNcError},
      {"hw_dma_abort_error", FaultClass::DMAAbort, Witness::CoreDmaAbort},
      {"hw_collectives_error", FaultClass::CollectivesHang, Witness::CoreCollectivesError},
      {"timeout", FaultClass::ComputeHang, Witness::CoreTimeout},
  }};
  for (const auto& core : device.cores) {
    for (const auto& row : rows) {
      const auto found = core.counters.find(row.name);
      if (found == core.counters.end()) continue;
      find.counter(row.fault, row.witness, std::to_string(core.index) + "/" + std::string(row.name),
                   found->second, false, core.index);
    }
  }
}

// AWS: a device whose reset failed shows it on every core; a rise on some only is no sign.
void reset_signs(const DeviceReading& device, Finder& find) {
  if (device.state == 2)
    find.state(FaultClass::ResetFailed, Witness::StateInvalid, "device state 2");
  std::vector<Sign> rises;
  for (const auto& core : device.cores) {
    const auto found = core.counters.find("reset_fail_count");
    if (found == core.counters.end()) continue;
    const std::string name = std::to_string(core.index) + "/reset_fail_count";
    const std::uint64_t from = find.baseline(FaultClass::ResetFailed, name, found->second, false);
    if (found->second <= from) continue;
    rises.push_back({FaultClass::ResetFailed,
                     Witness::ResetFailRose,
                     {},
                     found->second - from,
                     rise(name, from, found->second),
                     name,
                     found->second});
  }
  if (rises.size() < device.cores.size()) return;
  find.signs.list.insert(find.signs.list.end(), rises.begin(), rises.end());
}

}  // namespace

bool version_at_least(const std::string& version, int major, int minor) {
  const auto parts = split(version, '.');
  const auto first = parse_u64(parts[0]);
  const auto second = parts.size() > 1 ? parse_u64(parts[1]) : std::nullopt;
  if (!first || !second) return false;
  const auto wanted_major = static_cast<std::uint64_t>(major);
  return *first > wanted_major ||
         (*first == wanted_major && *second >= static_cast<std::uint64_t>(minor));
}

bool reads_all_ones(const DeviceReading& device) {
  // A counter may truly stand at 65535; with a readable serial the device is still on the bus.
  return device.serial == "ffffffffffffffff" ||
         (device.ecc.sram_uncorrected == kAllOnes16 && !device.serial_stable);
}

Signs find_signs(const DeviceReading& device, const SlotMemory& slot,
                 const std::string& driver_version) {
  Finder find{slot, {}};
  find.signs.all_ones = reads_all_ones(device);
  if (find.signs.all_ones || device.reported_unreachable) {
    // Nothing else that such a device says can be believed.
    if (find.signs.all_ones)
      find.state(FaultClass::DeviceUnreachable, Witness::AllOnes, "registers read all ones");
    if (device.reported_unreachable) {
      find.state(FaultClass::DeviceUnreachable, Witness::ReportedUnreachable,
                 "the driver reports device_unreachable");
    }
    return std::move(find.signs);
  }
  ecc_signs(device, driver_version, find);
  component_signs(device, find);
  core_signs(device, find);
  reset_signs(device, find);
  return std::move(find.signs);
}

}  // namespace nobs::health
