// Hand-made reports for tests of the HTTP API: a node with a healthy, a faulty and an unreadable device.
#pragma once

#include <memory>

#include "agent/serve/board.h"

namespace nobs::serve::test {

inline sources::DeviceReading read_device(int index) {
  sources::DeviceReading device;
  device.index = index;
  device.problem = sources::ReadProblem::None;
  device.read_at = SteadyTime(std::chrono::hours(1));
  device.serial = "00000000000000a" + std::to_string(index);
  device.serial_stable = true;
  device.state = 1;
  device.ecc = {0, 0, std::nullopt, 2, 5};
  device.unhealthy_components.emplace();
  device.power = sources::PowerReading{true, 1'796'040'000, 1.5, 20, 7.25};
  device.cores.push_back({0, {{"hw_nc_ue_error", 0}, {"success", 17}}, 4096});
  device.instance_family = "Trn2";
  device.device_name = "Trainium2";
  device.architecture = "NDv3";
  device.memory_bytes = 96ULL << 30;
  device.missing = {"heartbeat"};
  return device;
}

inline api::Fault fault(api::FaultClass what, api::Severity severity, std::int64_t generation) {
  api::Fault fault;
  fault.fault = what;
  fault.severity = severity;
  fault.serial = "00000000000000a1";
  fault.epoch = "boot-1";
  fault.generation = generation;
  fault.first_seen = fault.last_seen = WallTime(std::chrono::seconds(1'796'040'000));
  fault.witnesses = {"HbmUncorrectedRose"};
  fault.verified = true;
  fault.action = api::Action::ReplaceNode;
  fault.message = "mem_ecc_uncorrected 0 -> 1";
  return fault;
}

// Device 0 is healthy, device 1 has a fault and a warning, device 2 has not answered.
inline publish::Report report(std::uint64_t version = 7) {
  publish::Report report;
  report.version = version;
  report.at = WallTime(std::chrono::seconds(1'796'040'000));
  report.restored = true;
  auto& reading = report.reading;
  reading.version = version;
  reading.at = report.at;
  reading.steady = SteadyTime(std::chrono::hours(1));
  reading.driver = sources::DriverState::Live;
  reading.driver_version = "2.30.2.0";
  reading.layout = sources::Layout::A;
  reading.instance_type = "trn2.48xlarge";
  reading.boot_id = "b0";
  reading.epoch = "boot-1";
  reading.expected_devices = 3;
  for (int index = 0; index < 3; ++index) {
    reading.devices.push_back(read_device(index));
    auto& slot = report.memory.slots[index];
    slot.serial = reading.devices.back().serial;
    slot.epoch = "boot-1";
    slot.health = api::Health::Healthy;
    slot.reason = slot.message = "";
    slot.since = report.at;
    slot.baseline = {{"mem_ecc_uncorrected", 0}, {"sram_ecc_uncorrected", 0}};
    slot.last = reading.devices.back();
  }
  auto& faulty = report.memory.slots[1];
  faulty.health = api::Health::Unhealthy;
  faulty.reason = "HBMUncorrectable";
  faulty.message = "mem_ecc_uncorrected 0 -> 1";
  faulty.generation = 4;
  faulty.faults = {
      fault(api::FaultClass::HBMUncorrectable, api::Severity::Fatal, 4),
      fault(api::FaultClass::CollectivesHang, api::Severity::Warning, 0),
  };
  faulty.faults.back().core = 3;
  sources::DeviceReading silent;
  silent.index = 2;
  silent.problem = sources::ReadProblem::Timeout;
  silent.problem_detail = "stats/hardware has not answered for 3 s";
  reading.devices[2] = silent;
  auto& unknown = report.memory.slots[2];
  unknown = {};
  unknown.last = silent;
  unknown.reason = "ReadTimeout";
  unknown.message = silent.problem_detail;
  return report;
}

inline health::Change began(int device) {
  return {health::Change::Kind::FaultBegan,
          device,
          fault(api::FaultClass::HBMUncorrectable, api::Severity::Fatal, 4),
          {},
          {},
          {}};
}
inline health::Change turned(int device) {
  health::Change change{health::Change::Kind::HealthChanged, device, {}, {}, {}, {}};
  change.from = api::Health::Healthy;
  change.to = api::Health::Unhealthy;
  return change;
}

inline std::shared_ptr<const publish::Report> shared(publish::Report report) {
  return std::make_shared<const publish::Report>(std::move(report));
}

}  // namespace nobs::serve::test
