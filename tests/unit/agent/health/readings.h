// Readings of a healthy trn2.48xlarge, and a bench that judges one after another; tests break them.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "agent/health/judge.h"

namespace nobs::health::test {

using namespace std::chrono_literals;  // NOLINT: a header of tests only
using api::FaultClass;
using api::Health;
using sources::DeviceReading;
using sources::NodeReading;

inline DeviceReading healthy_device(int index) {
  DeviceReading device;
  device.index = index;
  device.problem = sources::ReadProblem::None;
  device.serial = "00000000000000" + std::string(index < 10 ? "0" : "") + std::to_string(index);
  device.serial_stable = true;
  device.state = 1;
  device.ecc = {0, 0, 0, 0, 0};
  device.unhealthy_components.emplace();
  device.device_name = "Trainium2";
  for (int core = 0; core < 8; ++core) {
    device.cores.push_back({core,
                            {{"hw_hbm_ue_error", 0},
                             {"hw_repairable_hbm_ue_error", 0},
                             {"hw_nc_ue_error", 0},
                             {"hw_dma_abort_error", 0},
                             {"hw_collectives_error", 0},
                             {"timeout", 0},
                             {"reset_fail_count", 0},
                             {"oob_error", 0},
                             {"execute_completed_with_num_error", 0}},
                            {}});
  }
  return device;
}

inline NodeReading healthy_node(int devices = 16) {
  NodeReading node;
  node.at = WallTime(std::chrono::seconds(1'796'040'000));
  node.steady = SteadyTime(1h);
  node.driver = sources::DriverState::Live;
  node.driver_version = "2.30.2.0";
  node.epoch = "boot-1";
  node.expected_devices = devices;
  for (int index = 0; index < devices; ++index) node.devices.push_back(healthy_device(index));
  return node;
}

// The node as it reads now, and what was judged so far.
struct Bench {
  NodeReading node = healthy_node();
  Options options;
  Memory memory;
  std::vector<Change> changes;  // of the last cycle
  bool recheck = false;

  explicit Bench(int devices = 16) : node(healthy_node(devices)) { cycle(); }

  DeviceReading& device(int index = 0) {
    return *std::find_if(node.devices.begin(), node.devices.end(),
                         [&](const auto& d) { return d.index == index; });
  }
  std::uint64_t& counter(int core, const char* name) {
    return device().cores.at(static_cast<size_t>(core)).counters[name];
  }
  SlotMemory& slot(int index = 0) { return memory.slots.at(index); }

  void cycle(std::chrono::nanoseconds after = 1s) {
    node.at += after;
    node.steady += after;
    ++node.version;
    auto judged = judge(memory, node, options);
    memory = std::move(judged.memory);
    changes = std::move(judged.changes);
    recheck = judged.recheck;
  }
  void run(std::chrono::seconds time) {
    for (; time > 0s; time -= 1s) cycle();
  }
  void change(const std::function<void(DeviceReading&)>& how, int index = 0) { how(device(index)); }

  const api::Fault* fault(FaultClass wanted, int index = 0) {
    for (const auto& fault : slot(index).faults) {
      if (fault.fault == wanted) return &fault;
    }
    return nullptr;
  }
  bool cleared(FaultClass fault, const std::string& by) const {
    return std::any_of(changes.begin(), changes.end(), [&](const Change& change) {
      return change.kind == Change::Kind::FaultCleared && change.fault.fault == fault &&
             change.cleared_by == by;
    });
  }
  // What the agent would publish, read back by the next agent, which has not seen a reading yet.
  void restart(const std::string& acknowledged = "") {
    std::vector<api::NeuronDevice> devices;
    for (const auto& [index, slot] : memory.slots) {
      api::NeuronDevice device;
      device.index = index;
      device.serial = slot.serial;
      device.acknowledge = acknowledged;
      device.has_status = true;
      device.health = slot.health;
      device.reason = slot.reason;
      device.since = slot.since;
      device.generation = slot.generation;
      device.epoch = slot.epoch;
      for (const auto& fault : slot.faults)
        (fault.severity == api::Severity::Fatal ? device.faults : device.warnings).push_back(fault);
      const auto ecc = [&, &known = slot.baseline](const char* name) {
        const auto found = known.find(name);
        return found == known.end() ? std::optional<std::int64_t>()
                                    : static_cast<std::int64_t>(found->second);
      };
      device.ecc = {ecc("sram_ecc_uncorrected"),
                    ecc("mem_ecc_uncorrected"),
                    ecc("mem_ecc_repairable_uncorrected"),
                    {},
                    {}};
      devices.push_back(std::move(device));
    }
    memory = restore(devices);
  }
};

}  // namespace nobs::health::test
