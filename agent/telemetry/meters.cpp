#include "agent/telemetry/meters.h"

#include <algorithm>
#include <unordered_map>

namespace nobs::telemetry {
namespace {

// Larger values are a counter that wrapped below zero or a register that reads all ones, never a count.
constexpr std::uint64_t kImplausible = std::uint64_t{1} << 63;
// Power is measured once a minute; a line that is older was left by a driver that has stopped measuring.
constexpr auto kPowerAge = std::chrono::minutes(3);

using Slots = std::unordered_multimap<std::string_view, const Metric*>;

// By the driver's key; one file may feed two metrics.
const Slots& driver_slots(Scope scope) {
  static const auto of = [](Scope wanted) {
    Slots slots;
    for (const Metric* metric : metrics_of(wanted))
      if (metric->origin == Origin::Driver) slots.emplace(metric->source, metric);
    return slots;
  };
  static const Slots device = of(Scope::Device), core = of(Scope::Core);
  return scope == Scope::Device ? device : core;
}

Meter& meter_of(Entity& entity, std::string_view name) {
  return entity.meters[slot_of(*find_metric(name))];
}

void set_gauge(Meter& meter, double value) {
  meter.value = value;
  meter.is_known = meter.is_present = true;
}

// `is_continued`: the value before was of the same part and the same load of the driver.
void set_counter(Meter& meter, std::uint64_t value, bool is_continued) {
  if (value >= kImplausible) {
    meter.is_present = false;
    return;
  }
  if (!meter.is_known || !is_continued) {
    meter.value += static_cast<double>(value);
  } else if (value > meter.raw) {
    meter.value += static_cast<double>(value - meter.raw);
  }
  meter.raw = value;
  meter.is_known = meter.is_present = true;
}

void set_driver_value(Entity& entity, Scope scope, std::string_view key, std::uint64_t value,
                      bool is_continued, std::uint64_t limit) {
  const auto [begin, end] = driver_slots(scope).equal_range(key);
  for (auto at = begin; at != end; ++at) {
    Meter& meter = entity.meters[slot_of(*at->second)];
    if (at->second->is_counter()) {
      set_counter(meter, value, is_continued);
    } else if (limit == 0 || value <= limit) {
      set_gauge(meter, static_cast<double>(value));
    } else {
      meter.is_present = false;
    }
  }
}

void hide(Entity& entity) {
  for (Meter& meter : entity.meters) meter.is_present = false;
}

}  // namespace

Entity& Meters::add(Scope scope) {
  Entity& entity = entities_[static_cast<size_t>(scope)].emplace_back();
  entity.meters.resize(metrics_of(scope).size());
  return entity;
}

int Meters::logical_core_size(const std::string& family) const {
  if (family != "Trn2" && family != "Trn3") return 1;
  return logical_core_size_.value_or(2);
}

void Meters::take(const sources::NodeReading& reading) {
  if (system_ == nullptr) system_ = &add(Scope::System);
  for (auto& [index, state] : devices_) {
    const auto found = std::ranges::find(reading.devices, index, &sources::DeviceReading::index);
    if (found != reading.devices.end() && found->problem == sources::ReadProblem::None) continue;
    hide(*state.device);
    for (auto& [core, entity] : state.cores) hide(*entity);
  }
  size_t cores = 0, logical = 0;
  for (const auto& device : reading.devices) {
    if (device.problem == sources::ReadProblem::None)
      take_device(device, reading.epoch, reading.at);
    cores += device.cores.size();
    logical += device.cores.size() / static_cast<size_t>(logical_core_size(device.instance_family));
  }
  set_gauge(meter_of(*system_, "neuron_device_count"), static_cast<double>(reading.devices.size()));
  set_gauge(meter_of(*system_, "physical_neuroncore_count"), static_cast<double>(cores));
  set_gauge(meter_of(*system_, "logical_neuroncore_count"), static_cast<double>(logical));
}

void Meters::take_device(const sources::DeviceReading& device, const std::string& epoch,
                         WallTime now) {
  DeviceState& state = devices_[device.index];
  if (state.device == nullptr) {
    state.device = &add(Scope::Device);
    state.device->device = device.index;
  }
  const bool is_same_load = state.epoch == epoch;
  const bool is_same_part =
      device.serial.empty() || state.serial.empty() || device.serial == state.serial;
  const bool is_continued = is_same_load && is_same_part;
  state.epoch = epoch;
  if (device.serial_stable) state.serial = device.serial;
  Entity& entity = *state.device;

  // Error counters count for something only between two equal readings of the serial number: a reset reads as zeros.
  const auto ecc = [&](std::string_view key, const std::optional<std::uint64_t>& value) {
    if (!value || !device.serial_stable) return;
    const auto [begin, end] = driver_slots(Scope::Device).equal_range(key);
    for (auto at = begin; at != end; ++at) {
      Meter& meter = entity.meters[slot_of(*at->second)];
      if (is_continued && meter.is_known && *value < meter.raw) continue;  // not to be believed
      set_counter(meter, *value, is_continued);
    }
  };
  ecc("mem_ecc_uncorrected", device.ecc.memory_uncorrected);
  ecc("mem_ecc_repairable_uncorrected", device.ecc.memory_repairable_uncorrected);
  ecc("sram_ecc_uncorrected", device.ecc.sram_uncorrected);
  ecc("mem_ecc_corrected", device.ecc.memory_corrected);
  ecc("sram_ecc_corrected", device.ecc.sram_corrected);

  const bool has_power =
      device.power && device.power->valid &&
      std::chrono::abs(now - WallTime(std::chrono::seconds(device.power->closed_seconds))) <
          kPowerAge;
  for (const auto& [name, value] : {std::pair{"power_min", &sources::PowerReading::minimum},
                                    std::pair{"power_max", &sources::PowerReading::maximum},
                                    std::pair{"power_avg", &sources::PowerReading::average}}) {
    Meter& meter = meter_of(entity, name);
    meter.is_present = false;
    if (has_power) set_gauge(meter, (*device.power).*value);
  }
  if (device.memory_bytes > 0)
    set_gauge(meter_of(entity, "device_memory_capacity"), static_cast<double>(device.memory_bytes));

  const int cores_per_device = static_cast<int>(device.cores.size());
  for (const auto& core : device.cores) {
    Entity*& found = state.cores[core.index];
    if (found == nullptr) {
      found = &add(Scope::Core);
      found->device = device.index;
      found->core = core.index;
      found->neuroncore = device.index * cores_per_device + core.index;
    }
    for (const auto& [name, value] : core.counters)
      set_driver_value(*found, Scope::Core, name, value, is_continued, 0);
    if (core.device_memory_bytes)
      set_driver_value(*found, Scope::Core, "device_mem", *core.device_memory_bytes, is_continued,
                       device.memory_bytes);
  }
  if (device.telemetry && device.telemetry->number != state.telemetry_number)
    take_telemetry(device, state, is_continued);
}

void Meters::take_telemetry(const sources::DeviceReading& device, DeviceState& state,
                            bool is_continued) {
  const auto& telemetry = *device.telemetry;
  const double seconds =
      state.telemetry_number == 0
          ? 0
          : std::chrono::duration<double>(device.read_at - state.telemetry_at).count();
  state.telemetry_number = telemetry.number;
  state.telemetry_at = device.read_at;

  for (const auto& [name, value] : telemetry.device)
    set_driver_value(*state.device, Scope::Device, name, value, is_continued, 0);
  for (const auto& core : telemetry.cores) {
    const auto found = state.cores.find(core.index);
    if (found == state.cores.end()) continue;
    Entity& entity = *found->second;
    const Meter busy = meter_of(entity, "time_in_use"), flops = meter_of(entity, "flop_count");
    for (const auto& [name, value] : core.values)
      set_driver_value(entity, Scope::Core, name, value, is_continued, device.memory_bytes);
    const auto rate = [&](std::string_view name, const Meter& before, const Meter& now,
                          double scale) {
      Meter& meter = meter_of(entity, name);
      meter.is_present = false;
      if (before.is_known && now.is_present && seconds > 0)
        set_gauge(meter, (now.value - before.value) / seconds * scale);
    };
    rate("utilization", busy, meter_of(entity, "time_in_use"), 100 / 1e6);  // microseconds
    rate("effective_flops", flops, meter_of(entity, "flop_count"), 1);
  }
  for (const auto& [delta, total] : {std::pair{"mem_ecc_corrected_delta", "mem_ecc_corrected"},
                                     std::pair{"sram_ecc_corrected_delta", "sram_ecc_corrected"}}) {
    Meter& meter = meter_of(*state.device, delta);
    const Meter& now = meter_of(*state.device, total);
    if (!now.is_present) continue;
    // `raw` keeps the total of the sample before.
    const auto count = static_cast<std::uint64_t>(now.value);
    set_gauge(meter, meter.is_known ? static_cast<double>(count - meter.raw) : 0);
    meter.raw = count;
  }
}

void Meters::take(const sources::FabricReading& reading) {
  for (auto& [name, entity] : ports_) hide(*entity);
  for (const auto& port : reading.ports) {
    Entity*& found = ports_[port.device + "/" + port.port];
    if (found == nullptr) {
      found = &add(Scope::Efa);
      found->efa_device = port.device;
      found->efa_port = port.port;
    }
    for (const auto& [name, value] : port.counters)
      if (const Metric* metric = find_metric(name); metric && metric->scope == Scope::Efa)
        set_counter(found->meters[slot_of(*metric)], value, true);
  }
}

void Meters::take(const sources::SystemReading& reading) {
  if (system_ == nullptr) system_ = &add(Scope::System);
  const auto gauge = [&](std::string_view name, const std::optional<std::uint64_t>& value) {
    Meter& meter = meter_of(*system_, name);
    meter.is_present = false;
    if (value) set_gauge(meter, static_cast<double>(*value));
  };
  gauge("memory_total_bytes", reading.memory_total);
  gauge("memory_used_bytes", reading.memory_used);
  gauge("swap_total_bytes", reading.swap_total);
  gauge("swap_used_bytes", reading.swap_used);
  gauge("vcpu_count",
        reading.cpus.empty() ? std::nullopt : std::optional<std::uint64_t>(reading.cpus.size()));
  Meter& switches = meter_of(*system_, "context_switch_count");
  switches.is_present = false;
  if (reading.context_switches) set_counter(switches, *reading.context_switches, true);

  Meter& usage = meter_of(*system_, "cpu_average_usage");
  usage.is_present = false;
  for (auto& [index, entity] : cpus_) hide(*entity);
  if (last_system_) {
    if (last_system_->all && reading.all)
      if (const auto share = sources::share_between(*last_system_->all, *reading.all))
        set_gauge(usage, share->busy);
    for (const auto& [index, times] : reading.cpus) {
      const auto before = last_system_->cpus.find(index);
      if (before == last_system_->cpus.end()) continue;
      const auto share = sources::share_between(before->second, times);
      if (!share) continue;
      Entity*& entity = cpus_[index];
      if (entity == nullptr) {
        entity = &add(Scope::Vcpu);
        entity->cpu = index;
      }
      for (const auto& [name, value] : {std::pair{"vcpu_user_percent", share->user},
                                        std::pair{"vcpu_nice_percent", share->nice},
                                        std::pair{"vcpu_system_percent", share->system},
                                        std::pair{"vcpu_idle_percent", share->idle},
                                        std::pair{"vcpu_iowait_percent", share->iowait},
                                        std::pair{"vcpu_irq_percent", share->irq},
                                        std::pair{"vcpu_softirq_percent", share->softirq}})
        set_gauge(meter_of(*entity, name), value);
    }
  }
  last_system_ = reading;
}

}  // namespace nobs::telemetry
