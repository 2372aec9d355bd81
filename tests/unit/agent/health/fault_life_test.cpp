// How a fault lives on: restarts, resets, reloads, other parts, acknowledgements.
#include <random>
#include <set>

#include "agent/health/rules.h"
#include "readings.h"

namespace nobs::health {
namespace {

using test::Bench;
using test::FaultClass;
using test::Health;
using namespace std::chrono_literals;

void silent_zero(Bench& bench) {
  bench.device().ecc = {0, 0, 0, 0, 0};
  bench.counter(1, "hw_dma_abort_error") = 0;
}
void reset_zero(Bench& bench) {
  silent_zero(bench);
  bench.device().state = 0;
}
void empty_serial(Bench& bench) {
  silent_zero(bench);
  bench.device().serial.clear();
  bench.device().serial_stable = false;
}

}  // namespace

TEST_CASE("ECC read as zero in a reset is Unknown: it clears nothing and counts nothing twice") {
  for (const auto& zero : {&silent_zero, &reset_zero, &empty_serial}) {
    Bench bench;
    bench.device().ecc = {2, 0, 3, 0, 0};
    bench.counter(1, "hw_dma_abort_error") = 4;
    bench.run(2s);
    bench.node.epoch = "boot-2";  // the pair stays in the new epoch, so HBMRepairable does too
    bench.run(2s);
    const auto faults = bench.slot().faults;
    REQUIRE(faults.size() == 3);
    const auto before = bench.device();
    zero(bench);
    bench.run(400s);
    CHECK(bench.slot().faults == faults);
    bench.device() = before;
    bench.run(10s);
    CHECK(bench.slot().faults == faults);
    acknowledge(bench.memory, 0, 99);
    zero(bench);
    bench.cycle();
    CHECK(bench.slot().health == Health::Unknown);
    bench.device() = before;
    bench.run(10s);
    CHECK(bench.slot().health == Health::Healthy);
  }
}

TEST_CASE("an ECC count that was read without a sure serial is not believed") {
  Bench bench;
  bench.device().ecc = {9, 9, 9, 0, 0};
  bench.device().serial_stable = false;
  bench.run(5s);
  CHECK(bench.slot().faults.empty());
  CHECK(bench.slot().reason == "ValueImplausible");
}

TEST_CASE("a fall that lasts longer than any reset is the truth, and rises count from there") {
  Bench bench;
  bench.device().ecc.sram_uncorrected = 5;
  bench.run(2s);
  bench.device().ecc.sram_uncorrected = 1;
  bench.run(605s);
  CHECK(bench.fault(FaultClass::SRAMUncorrectable)->count == 5);
  bench.device().ecc.sram_uncorrected = 2;
  bench.run(2s);
  CHECK(bench.fault(FaultClass::SRAMUncorrectable)->count == 6);
}

TEST_CASE("a core counter that somebody cleared counts from there at once") {
  Bench bench;
  bench.counter(1, "hw_dma_abort_error") = 5;
  bench.run(2s);
  bench.counter(1, "hw_dma_abort_error") = 0;
  bench.cycle();
  CHECK(bench.slot().faults.size() == 1);
  bench.counter(1, "hw_dma_abort_error") = 2;
  bench.run(2s);
  CHECK(bench.fault(FaultClass::DMAAbort)->count == 7);
  CHECK(bench.memory.generation == 1);  // the same fault: no new generation
  bench.counter(1, "hw_dma_abort_error") = ~0ULL;
  bench.run(2s);
  CHECK(bench.fault(FaultClass::DMAAbort)->count == 1'000'000'007);
}

TEST_CASE("a device that cannot be read keeps its fault; a healthy one becomes Unknown") {
  Bench bench;
  bench.device(0).ecc.sram_uncorrected = 1;
  bench.run(2s);
  const WallTime since = bench.slot(0).since;
  for (const int index : {0, 1}) {
    bench.device(index).problem = sources::ReadProblem::Timeout;
    bench.device(index).problem_detail = "no answer for 3 s";
  }
  bench.run(400s);
  CHECK(bench.slot(0).health == Health::Unhealthy);
  CHECK(bench.slot(0).reason == "SRAMUncorrectable");
  CHECK(bench.slot(0).since == since);
  CHECK(bench.slot(1).health == Health::Unknown);
  CHECK(bench.slot(1).reason == "ReadTimeout");
  CHECK(bench.slot(1).message == "no answer for 3 s");
  CHECK(bench.slot(1).since == bench.node.at - 399s);
}

TEST_CASE("a sign waits for its second reading while the device does not answer") {
  Bench bench;
  ++*bench.device().ecc.memory_uncorrected;
  bench.cycle();
  bench.device().problem = sources::ReadProblem::Timeout;
  bench.run(5s);
  bench.device().problem = sources::ReadProblem::None;
  bench.cycle();
  CHECK(bench.fault(FaultClass::HBMUncorrectable));
}

TEST_CASE("a restart forgets nothing and counts nothing again") {
  Bench bench;
  bench.device().ecc = {1, 2, 3, 0, 0};
  bench.counter(2, "hw_dma_abort_error") = 4;
  bench.counter(2, "hw_nc_ue_error") = 1;
  bench.run(5s);
  bench.counter(2, "timeout") = 2;
  bench.run(5s);
  const auto before = bench.slot();
  REQUIRE(before.faults.size() == 5);
  const auto sorted = [](std::vector<api::Fault> faults) {
    std::sort(faults.begin(), faults.end(),
              [](const auto& a, const auto& b) { return a.fault < b.fault; });
    return faults;
  };
  for (int restarts = 0; restarts < 3; ++restarts) {
    bench.restart();
    CHECK(bench.memory.generation == 4);
    bench.run(5s);
    CHECK(sorted(bench.slot().faults) == sorted(before.faults));
    CHECK(bench.slot().since == before.since);
    CHECK(bench.slot().health == Health::Unhealthy);
  }
  ++*bench.device().ecc.memory_uncorrected;
  ++bench.counter(2, "hw_dma_abort_error");
  bench.run(2s);
  CHECK(bench.fault(FaultClass::HBMUncorrectable)->count == 3);
  CHECK(bench.fault(FaultClass::DMAAbort)->count == 5);
}

TEST_CASE("what failed while no agent ran is found after the restart") {
  Bench bench;
  bench.restart();
  ++*bench.device().ecc.sram_uncorrected;
  ++bench.counter(0, "hw_dma_abort_error");
  bench.run(2s);
  CHECK(bench.slot().faults.size() == 2);
}

TEST_CASE("hangs that were over before a restart do not come back with it") {
  Bench bench;
  ++bench.counter(0, "timeout");
  bench.run(310s);
  REQUIRE(bench.slot().faults.empty());
  bench.restart();
  bench.run(5s);
  CHECK(bench.slot().faults.empty());
}

TEST_CASE("an acknowledged fault does not come back after a restart, and new errors still count") {
  Bench bench;
  ++*bench.device().ecc.sram_uncorrected;
  ++bench.counter(0, "hw_dma_abort_error");
  bench.run(2s);
  CHECK(acknowledge(bench.memory, 0, 1).size() == 1);
  CHECK(bench.slot().faults.size() == 1);  // the second has generation 2
  CHECK(acknowledge(bench.memory, 0, 2).front().cleared_by == "Acknowledged");
  CHECK(acknowledge(bench.memory, 99, 2).empty());
  bench.cycle();
  CHECK(bench.slot().health == Health::Healthy);
  bench.restart("2");
  bench.run(5s);
  CHECK(bench.slot().faults.empty());
  ++*bench.device().ecc.sram_uncorrected;
  ++bench.counter(0, "hw_dma_abort_error");
  bench.run(2s);
  CHECK(bench.slot().faults.size() == 2);
  CHECK(bench.memory.generation == 4);  // no generation is given out twice
}

TEST_CASE("an acknowledgement leaves warnings to their own rule") {
  Bench bench;
  ++bench.counter(0, "timeout");
  bench.run(2s);
  CHECK(acknowledge(bench.memory, 0, 99).empty());
  CHECK(bench.fault(FaultClass::ComputeHang));
}

TEST_CASE("another serial in the slot ends what the old part did, and begins anew") {
  Bench bench;
  bench.device().ecc = {7, 1, 1, 0, 0};
  bench.run(2s);
  const auto generation = bench.memory.generation;
  bench.device().serial = "00000000000000aa";
  bench.device().serial_stable = false;
  bench.cycle();
  CHECK(bench.slot().faults.size() == 3);  // not before the serial is sure
  bench.device().serial_stable = true;
  bench.device().ecc = {0, 0, 1, 0, 0};
  bench.cycle();
  for (const auto fault :
       {FaultClass::SRAMUncorrectable, FaultClass::HBMUncorrectable, FaultClass::HBMRepairable})
    CHECK(bench.cleared(fault, "Replaced"));
  CHECK(bench.slot().serial == "00000000000000aa");
  bench.restart();
  CHECK(bench.memory.generation == generation);  // outlives the part
  bench.run(2s);
  CHECK(bench.slot().faults.size() == 1);  // the new part's own
  CHECK(bench.slot().faults[0].serial == "00000000000000aa");
  CHECK(bench.slot().faults[0].generation == generation + 1);
}

TEST_CASE("a repaired memory bank is healthy in a new epoch only when the pair reads zero") {
  Bench bench;
  bench.device().ecc.memory_repairable_uncorrected = 2;
  bench.run(2s);
  bench.device().ecc.memory_repairable_uncorrected = 0;
  bench.run(700s);
  CHECK(bench.fault(FaultClass::HBMRepairable));  // zero, but the same epoch
  bench.node.epoch = "boot-2";
  bench.device().ecc.memory_uncorrected.reset();
  bench.cycle();
  CHECK(bench.fault(FaultClass::HBMRepairable));  // half of the pair is not read
  bench.device().ecc.memory_uncorrected = 0;
  bench.device().state = 0;
  bench.cycle();
  CHECK(bench.fault(FaultClass::HBMRepairable));
  bench.device().state = 1;
  bench.cycle();
  CHECK(bench.cleared(FaultClass::HBMRepairable, "NewEpoch"));
}

TEST_CASE("errors since a reload count although the counter reads less than before it") {
  Bench bench;
  bench.device().ecc.memory_uncorrected = 5;
  bench.run(2s);
  bench.node.epoch = "boot-2";
  bench.device().ecc.memory_uncorrected = 2;
  bench.run(4s);
  const auto* fault = bench.fault(FaultClass::HBMUncorrectable);
  CHECK(fault->count == 7);
  CHECK(fault->generation == 2);  // the same part failed again: no earlier override covers it
  CHECK(fault->epoch == "boot-2");
  CHECK(bench.slot().faults.size() == 1);
}

TEST_CASE("a failed reset ends with a reload after which the device is ready") {
  Bench bench;
  bench.device().state = 2;
  bench.run(2s);
  bench.device().state = 1;
  bench.run(400s);
  CHECK(bench.fault(FaultClass::ResetFailed));
  bench.node.epoch = "boot-2";
  bench.device().state = 2;
  bench.run(5s);
  CHECK(bench.slot().faults.size() == 1);  // one entry, however often the driver is loaded
  CHECK(bench.fault(FaultClass::ResetFailed)->generation == 2);
  bench.node.epoch = "boot-3";
  bench.device().state = 1;
  bench.cycle();
  CHECK(bench.cleared(FaultClass::ResetFailed, "NewEpoch"));
}

TEST_CASE(
    "a component that stays unhealthy beyond a reload is the same fault where only another part "
    "helps") {
  Bench bench;
  bench.device(0).unhealthy_components = {"hbm"};
  bench.device(1).unhealthy_components = {"link_1"};
  bench.run(2s);
  bench.node.epoch = "boot-2";
  bench.run(3s);
  CHECK(bench.fault(FaultClass::HBMUncorrectable, 0)->generation == 1);
  CHECK(bench.fault(FaultClass::LinkFault, 1)->generation == 3);
  CHECK(bench.slot(1).faults.size() == 1);
}

TEST_CASE(
    "a component's fault ends when it was gone, and the device readable, for the quiet time") {
  Bench bench;
  bench.device().unhealthy_components = {"link_0"};
  bench.run(2s);
  bench.device().unhealthy_components.emplace();
  bench.run(200s);
  bench.device().problem = sources::ReadProblem::Timeout;
  bench.cycle();
  bench.device().problem = sources::ReadProblem::None;
  bench.run(300s);
  CHECK(bench.fault(FaultClass::LinkFault));
  bench.cycle();
  CHECK(bench.cleared(FaultClass::LinkFault, "Quiet"));
}

TEST_CASE("since moves only when the health does") {
  Bench bench;
  ++*bench.device().ecc.sram_uncorrected;
  bench.run(2s);
  const WallTime since = bench.slot().since;
  ++*bench.device().ecc.memory_uncorrected;
  bench.run(5s);
  CHECK(bench.slot().reason == "HBMUncorrectable");
  CHECK(bench.slot().since == since);
  CHECK(bench.memory.generation == 2);
}

TEST_CASE("the judge is deterministic, and no fault of a part ends without a reason") {
  std::mt19937 random(20261130);
  const auto chance = [&](unsigned percent) { return random() % 100 < percent; };
  std::set<FaultClass> seen;
  for (int round = 0; round < 40; ++round) {
    Bench bench(2);
    for (int step = 0; step < 150; ++step) {
      auto& device = bench.device(0);
      if (chance(10)) ++*device.ecc.sram_uncorrected;
      if (chance(10)) ++*device.ecc.memory_repairable_uncorrected;
      if (chance(5)) ++device.cores[random() % 8].counters["hw_dma_abort_error"];
      if (chance(5)) ++device.cores[random() % 8].counters["hw_nc_ue_error"];
      if (chance(3)) device.ecc = {0, 0, 0, 0, 0};
      if (chance(3)) device.serial = "00000000000000b" + std::to_string(random() % 10);
      if (chance(3)) bench.node.epoch += "x";
      const auto truth = device;
      if (chance(10)) device.problem = static_cast<sources::ReadProblem>(random() % 6);
      if (chance(10)) device.serial = chance(50) ? "" : "ffffffffffffffff";
      device.serial_stable = !device.serial.empty() && chance(95);
      if (chance(10)) device.state = static_cast<int>(random() % 3);
      if (chance(10)) device.reported_unreachable = true;
      if (chance(10)) device.unhealthy_components = {"hbm"};
      const Memory before = bench.memory;
      bench.cycle(std::chrono::seconds(random() % 100));
      const auto again = judge(before, bench.node, bench.options);
      CHECK(again.memory.slots.at(0).faults == bench.slot().faults);
      CHECK(again.memory.slots.at(0).message == bench.slot().message);
      CHECK(again.changes.size() == bench.changes.size());
      REQUIRE(bench.memory.generation >= before.generation);
      bool fatal = false;
      for (const auto& fault : bench.slot().faults) {
        fatal |= fault.severity == api::Severity::Fatal && fault.verified;
        seen.insert(fault.fault);
      }
      REQUIRE((bench.slot().health == Health::Unhealthy) == fatal);
      for (const auto& fault : before.slots.at(0).faults) {
        const bool kept = bench.fault(fault.fault) != nullptr;
        const bool other_part = rule_of(fault.fault).clears == Clear::OtherSerial;
        if (other_part && !kept) REQUIRE(bench.cleared(fault.fault, "Replaced"));
      }
      device = truth;
      device.serial_stable = true;
      if (chance(3)) {
        for (const auto& change : acknowledge(bench.memory, 0, bench.memory.generation))
          REQUIRE(change.cleared_by == "Acknowledged");
      }
      if (chance(3)) bench.restart(chance(50) ? "1" : "");
    }
  }
  CHECK(seen.size() >= 7);
}

}  // namespace nobs::health
