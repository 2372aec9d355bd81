// When a fault begins.
#include "agent/health/rules.h"
#include "agent/health/signs.h"
#include "readings.h"

namespace nobs::health {
namespace {

using test::Bench;
using test::DeviceReading;
using test::FaultClass;
using test::Health;
using namespace std::chrono_literals;

struct Case {
  FaultClass fault;
  Witness witness;
  std::function<void(DeviceReading&)> make;
};

std::function<void(DeviceReading&)> core(const char* name) {
  return [name](DeviceReading& device) { ++device.cores[3].counters[name]; };
}
std::function<void(DeviceReading&)> component(const char* name) {
  return [name](DeviceReading& device) { device.unhealthy_components->emplace_back(name); };
}

const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {FaultClass::HBMUncorrectable, Witness::HbmUncorrectedRose,
       [](DeviceReading& d) { ++*d.ecc.memory_uncorrected; }},
      {FaultClass::HBMUncorrectable, Witness::ComponentHbm, component("hbm")},
      {FaultClass::HBMUncorrectable, Witness::CoreHbmError, core("hw_hbm_ue_error")},
      {FaultClass::HBMRepairable, Witness::HbmRepairableRose,
       [](DeviceReading& d) { ++*d.ecc.memory_repairable_uncorrected; }},
      {FaultClass::HBMRepairable, Witness::CoreRepairableHbmError,
       core("hw_repairable_hbm_ue_error")},
      {FaultClass::SRAMUncorrectable, Witness::SramUncorrectedRose,
       [](DeviceReading& d) { ++*d.ecc.sram_uncorrected; }},
      {FaultClass::SRAMUncorrectable, Witness::ComponentSram, component("sram")},
      {FaultClass::CoreUncorrectable, Witness::CoreNcError, core("hw_nc_ue_error")},
      {FaultClass::DMAAbort, Witness::CoreDmaAbort, core("hw_dma_abort_error")},
      {FaultClass::ResetFailed, Witness::StateInvalid, [](DeviceReading& d) { d.state = 2; }},
      {FaultClass::ResetFailed, Witness::ResetFailRose,
       [](DeviceReading& d) {
         for (auto& each : d.cores) ++each.counters["reset_fail_count"];
       }},
      {FaultClass::LinkFault, Witness::ComponentLink, component("link_3")},
      {FaultClass::FabricFault, Witness::ComponentFabric, component("axi_fabric")},
      {FaultClass::FirmwareFault, Witness::ComponentFirmware, component("firmware_service_pm")},
      {FaultClass::CollectivesHang, Witness::CoreCollectivesError, core("hw_collectives_error")},
      {FaultClass::ComputeHang, Witness::CoreTimeout, core("timeout")},
      {FaultClass::UnverifiedReport, Witness::ComponentUnknown, component("flux")},
  };
  return list;
}

}  // namespace

TEST_CASE("sixteen healthy devices are healthy, without a change after the first reading") {
  Bench bench;
  CHECK(bench.changes.size() == 16);
  CHECK_FALSE(bench.recheck);
  for (int index = 0; index < 16; ++index) {
    CHECK(bench.slot(index).health == Health::Healthy);
    CHECK(bench.slot(index).since == bench.node.at);
  }
  bench.run(60s);
  CHECK(bench.changes.empty());
}

TEST_CASE("every class with a sign in sysfs begins with the second agreeing reading") {
  for (const auto& [fault, witness, make] : cases()) {
    CAPTURE(to_string(witness));
    const bool fatal = rule_of(fault).severity == api::Severity::Fatal;
    Bench bench;
    bench.change(make);
    bench.cycle();
    CHECK_FALSE(bench.fault(fault));
    CHECK(bench.recheck);
    bench.cycle();
    CHECK_FALSE(bench.recheck);
    REQUIRE(bench.fault(fault));
    const auto& begun = *bench.fault(fault);
    CHECK(begun.witnesses == std::vector<std::string>{std::string(to_string(witness))});
    CHECK(begun.severity == rule_of(fault).severity);
    CHECK(begun.action == rule_of(fault).action);
    CHECK(begun.serial == "0000000000000000");
    CHECK(begun.epoch == "boot-1");
    CHECK(begun.first_seen == bench.node.at);
    CHECK(begun.count == 1);
    CHECK(begun.verified);
    CHECK(begun.generation == (fatal ? 1 : 0));
    CHECK(begun.core ==
          (begun.message.find("hw_") != std::string::npos || witness == Witness::CoreTimeout
               ? std::optional(3)
               : std::nullopt));
    CHECK(bench.slot().faults.size() == 1);
    CHECK(bench.slot().health == (fatal ? Health::Unhealthy : Health::Healthy));
    CHECK(bench.slot(1).health == Health::Healthy);
    bench.run(10s);
    CHECK(bench.fault(fault)->count == 1);  // not counted again while it lasts
    CHECK(bench.memory.generation == (fatal ? 1 : 0));
  }
}

TEST_CASE("a sign that is gone with the next reading is no fault, and does not add up") {
  for (const auto& [fault, witness, make] : cases()) {
    CAPTURE(to_string(witness));
    Bench bench;
    for (int i = 0; i < 3; ++i) {
      const DeviceReading before = bench.device();
      bench.change(make);
      bench.cycle();
      bench.device() = before;
      bench.cycle();
      CHECK(bench.slot().faults.empty());
    }
  }
}

TEST_CASE("two different witnesses are enough at once; the same one on two cores is not") {
  Bench bench;
  ++*bench.device().ecc.memory_uncorrected;
  ++bench.counter(0, "hw_hbm_ue_error");
  bench.cycle();
  REQUIRE(bench.fault(FaultClass::HBMUncorrectable));
  CHECK(bench.fault(FaultClass::HBMUncorrectable)->witnesses.size() == 2);
  CHECK_FALSE(bench.recheck);
  Bench same;
  ++same.counter(0, "hw_dma_abort_error");
  ++same.counter(1, "hw_dma_abort_error");
  same.cycle();
  CHECK(same.slot().faults.empty());
}

TEST_CASE("errors from before the first reading are a fault; hangs from before it are history") {
  Bench bench;
  bench.device().ecc = {1, 0, 2, 0, 0};
  bench.counter(2, "hw_dma_abort_error") = 3;
  bench.counter(2, "timeout") = 4;
  bench.counter(2, "hw_collectives_error") = 5;
  bench.memory = {};
  bench.run(2s);
  CHECK(bench.fault(FaultClass::SRAMUncorrectable));
  CHECK(bench.fault(FaultClass::HBMRepairable)->count == 2);
  CHECK(bench.fault(FaultClass::DMAAbort)->count == 3);
  CHECK(bench.slot().faults.size() == 3);
  ++bench.counter(2, "timeout");
  bench.run(2s);
  CHECK(bench.fault(FaultClass::ComputeHang)->count == 1);
}

TEST_CASE("what applications get wrong is never a device's fault") {
  Bench bench;
  for (const char* name : {"oob_error", "execute_completed_with_num_error", "exec_bad_input",
                           "generic_error", "unsupported_neff_version"}) {
    bench.counter(0, name) += 7;
  }
  bench.run(3s);
  CHECK(bench.slot().faults.empty());
  CHECK_FALSE(bench.recheck);
}

TEST_CASE("a failed reset shows on every core; on one it is some process' failed request") {
  Bench bench;
  ++bench.counter(5, "reset_fail_count");
  bench.run(3s);
  CHECK(bench.slot().faults.empty());
  for (int core = 0; core < 8; ++core) ++bench.counter(core, "reset_fail_count");
  bench.run(2s);
  CHECK(bench.fault(FaultClass::ResetFailed));
}

TEST_CASE("a core error that comes with an SRAM error speaks for the SRAM") {
  Bench bench;
  ++bench.counter(0, "hw_nc_ue_error");
  bench.cycle();
  ++*bench.device().ecc.sram_uncorrected;
  bench.run(2s);
  CHECK(bench.fault(FaultClass::SRAMUncorrectable)->witnesses.size() == 2);
  ++bench.counter(1, "hw_nc_ue_error");  // later, while that fault is active
  bench.run(2s);
  CHECK(bench.slot().faults.size() == 1);
  CHECK(bench.slot().faults[0].count == 2);
}

TEST_CASE("an error that changes from repairable to unrepairable asks for another node") {
  Bench bench;
  bench.device().ecc.memory_repairable_uncorrected = 5;
  bench.run(2s);
  CHECK(bench.slot().reason == "HBMRepairable");
  bench.device().ecc.memory_repairable_uncorrected = 0;
  bench.device().ecc.memory_uncorrected = 5;
  bench.run(2s);
  CHECK(bench.slot().reason == "HBMUncorrectable");
  CHECK(bench.fault(FaultClass::HBMUncorrectable)->action == api::Action::ReplaceNode);
  CHECK(bench.slot().health == Health::Unhealthy);
}

TEST_CASE("a driver before 2.28 does not tell whether a memory error is repairable") {
  for (const auto& [version, told] : std::vector<std::pair<std::string, bool>>{
           {"2.27.4.0", false}, {"2.28.0.0", true}, {"3.0", true}, {"", false}, {"2", false}}) {
    Bench bench;
    bench.node.driver_version = version;
    bench.device().ecc.memory_repairable_uncorrected = 1;
    bench.run(2s);
    CHECK((bench.fault(FaultClass::HBMRepairable) != nullptr) == told);
    const auto* mixed = bench.fault(FaultClass::HBMUncorrectable);
    REQUIRE((mixed != nullptr) != told);
    if (mixed) CHECK(mixed->message.find("does not tell") != std::string::npos);
  }
}

TEST_CASE("an unreachable device is Unknown at first and a fault after half a minute") {
  const auto unreachable = [](DeviceReading& d) { d.reported_unreachable = true; };
  const auto all_ones = [](DeviceReading& d) {
    d.serial = "ffffffffffffffff";
    d.ecc = {65535, 0, 0, 65535, 65535};
    for (auto& each : d.cores) each.counters["hw_nc_ue_error"] = ~0ULL;
  };
  for (const auto& make : {std::function<void(DeviceReading&)>(unreachable),
                           std::function<void(DeviceReading&)>(all_ones)}) {
    Bench bench;
    const DeviceReading before = bench.device();
    bench.change(make);
    bench.run(30s);
    CHECK(bench.slot().health == Health::Unknown);
    CHECK(bench.slot().reason == "ValueImplausible");
    CHECK(bench.slot().faults.empty());
    bench.cycle();
    CHECK(bench.slot().reason == "DeviceUnreachable");
    CHECK(bench.slot().faults.size() == 1);  // nothing else that it says is believed
    bench.device() = before;
    bench.run(300s);
    CHECK(bench.slot().health == Health::Unhealthy);
    bench.cycle();
    CHECK(bench.slot().health == Health::Healthy);
    CHECK(bench.slot().serial == before.serial);
  }
}

TEST_CASE("a short absence of answers is no fault, however often it comes back") {
  Bench bench;
  for (int i = 0; i < 3; ++i) {
    bench.device().reported_unreachable = true;
    bench.run(20s);
    bench.device().reported_unreachable = false;
    bench.cycle();
  }
  CHECK(bench.slot().health == Health::Healthy);
}

TEST_CASE("a device that is not there is missing after a grace, and back when all are") {
  Bench bench;
  const auto all = bench.node.devices;
  bench.node.devices.erase(bench.node.devices.begin() + 3);
  bench.node.devices.erase(bench.node.devices.begin() + 8);
  bench.run(10s);
  CHECK(bench.slot(3).health == Health::Unknown);
  bench.cycle();
  CHECK(bench.slot(3).reason == "DeviceMissing");
  CHECK(bench.slot(9).reason == "DeviceMissing");
  CHECK(bench.slot(3).message.find("14 of 16") != std::string::npos);
  CHECK(bench.slot(4).health == Health::Healthy);
  bench.node.devices = all;
  bench.node.devices.erase(bench.node.devices.begin() + 9);
  bench.cycle();
  CHECK(bench.slot(3).health == Health::Unhealthy);
  bench.node.devices = all;
  bench.cycle();
  CHECK(bench.cleared(FaultClass::DeviceMissing, "Whole"));
  CHECK(bench.slot(3).health == Health::Healthy);
}

TEST_CASE("missing is known from the instance type, and without it from what was there") {
  Bench never_seen;
  never_seen.memory = {};
  never_seen.node.devices.pop_back();
  never_seen.run(11s);
  CHECK(never_seen.slot(15).reason == "DeviceMissing");
  Bench removed(2);
  removed.node.expected_devices = 0;
  removed.node.devices.pop_back();
  removed.run(11s);
  CHECK(removed.slot(1).reason == "DeviceMissing");
  CHECK(removed.slot(1).message.find("1 of 2") != std::string::npos);
  Bench all;
  all.node.devices.clear();
  all.run(11s);
  for (int index = 0; index < 16; ++index) CHECK(all.slot(index).reason == "DeviceMissing");
}

TEST_CASE("without a driver devices are Unknown, never missing, and keep what they had") {
  Bench bench(2);
  bench.device(1).ecc.sram_uncorrected = 1;
  bench.run(2s);
  bench.node.devices.clear();
  bench.node.driver = sources::DriverState::Unloading;
  bench.run(60s);
  CHECK(bench.slot(0).reason == "DriverUnloading");
  CHECK(bench.slot(1).health == Health::Unhealthy);
  bench.node.driver = sources::DriverState::NotLoaded;
  bench.run(60s);
  CHECK(bench.slot(0).reason == "DriverNotLoaded");
  bench.node.driver = sources::DriverState::Live;  // devices appear one by one: the grace begins
  bench.run(10s);
  CHECK(bench.slot(0).health == Health::Unknown);
  CHECK(bench.slot(0).faults.empty());
}

TEST_CASE("a heartbeat that stops makes the device Unknown, once its period is known") {
  Bench still(1);
  still.device().heartbeat = 7;
  still.run(300s);
  CHECK(still.slot().health == Health::Healthy);  // never moved: perhaps it has none
  Bench bench(1);
  for (int beat = 0; beat < 5; ++beat) {
    bench.device().heartbeat = 8 + beat;
    bench.run(5s);
  }
  bench.run(94s);
  CHECK(bench.slot().health == Health::Healthy);  // below 20 periods of 5 s
  bench.run(2s);
  CHECK(bench.slot().health == Health::Unknown);
  CHECK(bench.slot().reason == "FirmwareStalled");
  bench.run(31s);
  REQUIRE(bench.fault(FaultClass::FirmwareStalled));
  CHECK(bench.fault(FaultClass::FirmwareStalled)->severity == api::Severity::Warning);
  bench.run(600s);
  bench.device().heartbeat = 90;
  bench.cycle();
  CHECK(bench.slot().health == Health::Healthy);
  CHECK(bench.slot().faults.empty());
  // The stall was not learnt as a period, which would hide the next one for hours.
  bench.run(1300s);
  CHECK(bench.slot().reason == "FirmwareStalled");
}

TEST_CASE("a heartbeat that nobody could read has not stood still") {
  Bench bench(1);
  for (int beat = 0; beat < 5; ++beat) {
    bench.device().heartbeat = beat;
    bench.run(2s);
  }
  const DeviceReading before = bench.device();
  bench.device().problem = sources::ReadProblem::Timeout;
  bench.run(300s);
  bench.device() = before;
  bench.cycle();
  CHECK(bench.slot().health == Health::Healthy);
  bench.device().state = 0;  // a reset takes minutes
  bench.run(300s);
  CHECK(bench.slot().reason == "DeviceResetting");
  CHECK(bench.slot().faults.empty());
  bench.device().state = 1;
  bench.cycle();
  CHECK(bench.slot().health == Health::Healthy);
}

}  // namespace nobs::health
