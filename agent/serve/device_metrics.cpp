#include "agent/serve/device_metrics.h"

#include <array>

namespace nobs::serve {

DeviceMetrics::DeviceMetrics(metrics::Registry& registry)
    : health_(registry.gauge("neuron_device_health",
                             "1 for the state the device is in, 0 for the others.",
                             {"neuron_device_index", "serial", "state"})),
      faults_(registry.counter("neuron_device_faults_total", "Fatal faults that began, by class.",
                               {"neuron_device_index", "class"})),
      warnings_(registry.counter("neuron_device_warnings_total", "Warnings that began, by class.",
                                 {"neuron_device_index", "class"})),
      ecc_(registry.gauge("neuron_device_ecc_errors",
                          "ECC errors as the device's firmware counts them.",
                          {"neuron_device_index", "kind"})),
      last_read_(registry.gauge("neuron_observer_source_last_success_timestamp_seconds",
                                "When the source was last read, in Unix seconds.",
                                {"source", "neuron_device_index"})),
      driver_(registry.gauge("neuron_observer_driver_info", "1: the loaded Neuron driver.",
                             {"version", "layout", "state"})),
      cycles_(registry.counter("neuron_observer_cycles_total", "Cycles of reading and judging.")) {}

void DeviceMetrics::show(const health::Memory& memory, const sources::NodeReading& reading,
                         const std::vector<health::Change>& changes) {
  cycles_.add();
  driver_.clear();
  driver_.set({reading.driver_version, std::string(to_string(reading.layout)),
               std::string(to_string(reading.driver))},
              1);
  // Serials can change: series of a part that is gone must go.
  health_.clear();
  ecc_.clear();
  for (const auto& [index, slot] : memory.slots) {
    const std::string device = std::to_string(index);
    for (const auto state : {api::Health::Healthy, api::Health::Unhealthy, api::Health::Unknown}) {
      health_.set({device, slot.serial, std::string(to_lower_string(state))},
                  slot.health == state ? 1 : 0);
    }
    const auto& ecc = slot.last.ecc;
    const std::array<std::pair<const char*, std::optional<std::uint64_t>>, 5> kinds = {{
        {"sram_uncorrected", ecc.sram_uncorrected},
        {"mem_uncorrected", ecc.memory_uncorrected},
        {"mem_repairable_uncorrected", ecc.memory_repairable_uncorrected},
        {"sram_corrected", ecc.sram_corrected},
        {"mem_corrected", ecc.memory_corrected},
    }};
    for (const auto& [kind, value] : kinds) {
      if (value && slot.readable_since) ecc_.set({device, kind}, static_cast<double>(*value));
    }
  }
  const double now = std::chrono::duration<double>(reading.at.time_since_epoch()).count();
  for (const auto& device : reading.devices) {
    if (device.problem == sources::ReadProblem::None)
      last_read_.set({"sysfs", std::to_string(device.index)}, now);
  }
  for (const auto& change : changes) {
    if (change.kind != health::Change::Kind::FaultBegan &&
        change.kind != health::Change::Kind::FaultRepeated)
      continue;
    auto& counter = change.fault.severity == api::Severity::Fatal ? faults_ : warnings_;
    counter.add({std::to_string(change.device), std::string(to_string(change.fault.fault))});
  }
}

}  // namespace nobs::serve
