#include "agent/telemetry/meters.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "agent/telemetry/families.h"

using namespace nobs;
using namespace nobs::telemetry;
using namespace std::chrono_literals;

namespace {

// A node with two devices of two cores, read again and again.
struct Node {
  Node() {
    reading.epoch = "boot/1";
    reading.at = WallTime(1'800'000'000s);
    for (int device = 0; device < 2; ++device) {
      sources::DeviceReading read;
      read.index = device;
      read.problem = sources::ReadProblem::None;
      read.serial = std::string(15, 'a') + std::to_string(device);
      read.serial_stable = true;
      read.instance_family = "Trn2";
      read.memory_bytes = 1'000;
      read.ecc.memory_uncorrected = 0;
      read.cores = {{.index = 0, .counters = {{"timeout", 0}}, .device_memory_bytes = 100},
                    {.index = 1, .counters = {{"timeout", 0}}, .device_memory_bytes = 200}};
      reading.devices.push_back(read);
    }
  }

  sources::DeviceReading& device(size_t index) { return reading.devices.at(index); }
  void set_timeouts(size_t index, std::uint64_t value) {
    for (auto& core : device(index).cores) core.counters["timeout"] = value;
  }
  // Both cores of a device, after so many seconds.
  void set_telemetry(size_t index, std::chrono::seconds at, std::string_view name,
                     std::uint64_t value) {
    auto telemetry = std::make_shared<sources::DeviceTelemetry>();
    telemetry->number = ++number;
    device(index).read_at = SteadyTime(at);
    for (int core = 0; core < 2; ++core) telemetry->cores.push_back({core, {{name, value}}});
    device(index).telemetry = telemetry;
  }
  void take() { meters.take(reading); }

  // Value of an exported series; nothing: it is not shown.
  std::optional<double> value(const std::string& yaml, const std::string& name,
                              const std::vector<std::string>& labels = {}) const {
    const auto parsed = parse_exports(yaml);
    CHECK(parsed.mistakes.empty());
    for (const auto& family : families_of(meters, parsed.exports)) {
      if (family.name != name) continue;
      for (const auto& point : family.points)
        if (point.labels == labels) return point.value;
    }
    return std::nullopt;
  }
  std::optional<double> timeouts() const {
    return value(
        "{metrics: [infer_timed_out], aggregations: [{name: infer_timed_out, scope: system, "
        "strategy: sum}]}",
        "neuron.core.infer_timed_out.sum");
  }
  std::optional<double> timeouts_of(const std::string& device, const std::string& core) const {
    return value("metrics: [infer_timed_out]", "neuron.core.infer_timed_out", {device, core});
  }

  sources::NodeReading reading;
  Meters meters;
  std::uint64_t number = 0;
};

}  // namespace

TEST_CASE("a counter that falls goes on from the new value and adds nothing") {
  Node node;
  node.set_timeouts(0, 5);
  node.take();
  CHECK(node.timeouts() == 10);
  node.set_timeouts(0, 2);
  node.take();
  CHECK(node.timeouts() == 10);
  node.set_timeouts(0, 3);
  node.take();
  CHECK(node.timeouts() == 12);
}

TEST_CASE("after another load of the driver, or with another part, a counter adds from zero") {
  Node node;
  node.set_timeouts(0, 5);
  node.take();
  SUBCASE("another load") { node.reading.epoch = "boot/2"; }
  SUBCASE("another part") { node.device(0).serial = "bbbbbbbbbbbbbbbb"; }
  node.set_timeouts(0, 3);
  node.take();
  CHECK(node.timeouts() == 16);
}

TEST_CASE("a counter that reads all ones or wrapped below zero says nothing") {
  Node node;
  node.set_timeouts(0, 5);
  node.take();
  node.set_timeouts(0, ~0ULL - 3);
  node.take();
  CHECK(node.timeouts() == 10);
  CHECK_FALSE(node.timeouts_of("0", "0"));
  node.set_timeouts(0, 6);
  node.take();
  CHECK(node.timeouts() == 12);
  CHECK(node.timeouts_of("0", "0") == 6);
}

TEST_CASE("error counters that fall, or between two serial numbers, are not believed") {
  Node node;
  const auto errors = [&] {
    return node.value("metrics: [mem_ecc_uncorrected]", "neuron.device.mem_ecc_uncorrected", {"0"});
  };
  node.device(0).ecc.memory_uncorrected = 4;
  node.take();
  node.device(0).ecc.memory_uncorrected = 0;  // a reset reads as zeros
  node.take();
  node.device(0).ecc.memory_uncorrected = 4;
  node.take();
  CHECK(errors() == 4);
  node.device(0).serial_stable = false;
  node.device(0).ecc.memory_uncorrected = 131'070;
  node.take();
  CHECK(errors() == 4);
}

TEST_CASE("a device that cannot be read shows no series, and the node's sum does not fall") {
  Node node;
  node.set_timeouts(0, 5);
  node.set_timeouts(1, 7);
  node.take();
  CHECK(node.timeouts() == 24);
  CHECK(node.timeouts_of("1", "3") == 7);
  SUBCASE("its reads hang") { node.device(1).problem = sources::ReadProblem::Timeout; }
  SUBCASE("it is gone") { node.reading.devices.pop_back(); }
  node.take();
  CHECK(node.timeouts() == 24);
  CHECK_FALSE(node.timeouts_of("1", "3"));
  CHECK(node.timeouts_of("0", "1") == 5);  // the other device has no gap
}

TEST_CASE("memory is added up over what can be read, and never above the device's size") {
  Node node;
  node.take();
  const auto memory = [&] {
    return node.value(
        "{metrics: [mem_usage_total_device], aggregations: [{name: mem_usage_total_device, scope: "
        "system, strategy: sum}]}",
        "neuron.core.mem_usage_total_device.sum");
  };
  CHECK(memory() == 600);
  node.device(0).cores[0].device_memory_bytes = 1'001;
  node.take();
  CHECK(memory() == 500);
  node.device(1).problem = sources::ReadProblem::Timeout;
  node.take();
  CHECK(memory() == 200);
}

TEST_CASE("utilization is what the busy time rose by, and not known after one reading") {
  Node node;
  const auto utilization = [&] {
    return node.value("metrics: [utilization]", "neuron.core.utilization", {"0", "1"});
  };
  node.set_telemetry(0, 10s, "nc_time_in_use", 5'000'000);
  node.take();
  CHECK_FALSE(utilization());
  node.set_telemetry(0, 14s, "nc_time_in_use", 6'000'000);
  node.take();
  CHECK(utilization() == 25);
  node.take();  // no newer telemetry: the value stays
  CHECK(utilization() == 25);
  node.set_telemetry(0, 16s, "nc_time_in_use", 1'000);  // somebody cleared it
  node.take();
  CHECK(utilization() == 0);
}

TEST_CASE("strategies are those of the group's samples") {
  Node node;
  for (size_t i = 0; i < 4; ++i)
    node.device(i / 2).cores[i % 2].device_memory_bytes = (i + 1) * 100;
  node.take();
  const std::string metric = "mem_usage_total_device";
  const std::string yaml =
      "{metrics: [" + metric + "], aggregations: [{name: " + metric +
      ", scope: system, strategy: [avg, min, max, p50, p99]}, {name: " + metric +
      ", scope: device, strategy: max, aggregated_name: by_device}]}";
  const std::string name = "neuron.core." + metric + ".";
  CHECK(node.value(yaml, name + "avg") == 250);
  CHECK(node.value(yaml, name + "min") == 100);
  CHECK(node.value(yaml, name + "max") == 400);
  CHECK(node.value(yaml, name + "p50") == 200);
  CHECK(node.value(yaml, name + "p99") == 400);
  CHECK(node.value(yaml, "neuron.core.by_device.max", {"0"}) == 200);
  CHECK(node.value(yaml, "neuron.core.by_device.max", {"1"}) == 400);
}

TEST_CASE("power is shown while it is valid and recent") {
  Node node;
  const auto power = [&] {
    return node.value("metrics: [power_avg]", "neuron.device.power_avg", {"0"});
  };
  sources::PowerReading read{true, 1'799'999'970, 10, 30, 20};
  node.device(0).power = read;
  node.take();
  CHECK(power() == 20);
  SUBCASE("the driver has no data") { node.device(0).power->valid = false; }
  SUBCASE("the minute is long over") { node.device(0).power->closed_seconds -= 600; }
  SUBCASE("the minute is far ahead") { node.device(0).power->closed_seconds += 600; }
  SUBCASE("the file is gone") { node.device(0).power.reset(); }
  node.take();
  CHECK_FALSE(power());
}

TEST_CASE("an adapter that is gone shows no series") {
  Node node;
  node.meters.take(sources::FabricReading{{{"efa_0", "1", {{"rx_bytes", 5}}, 0}}, {}});
  const auto bytes = [&] {
    return node.value("metrics: [rx_bytes]", "neuron.efa.rx_bytes", {"efa_0", "1"});
  };
  CHECK(bytes() == 5);
  node.meters.take(sources::FabricReading{{{"efa_0", "1", {{"rx_bytes", 2}}, 0}}, {}});
  CHECK(bytes() == 5);
  node.meters.take(sources::FabricReading{});
  CHECK_FALSE(bytes());
}

TEST_CASE("shares of CPU time are those between two readings") {
  Node node;
  sources::SystemReading first, second;
  first.cpus[3] = {100, 0, 0, 100, 0, 0, 0, 0};
  second.cpus[3] = {150, 0, 0, 250, 0, 0, 0, 0};
  first.all = first.cpus[3];
  second.all = second.cpus[3];
  node.meters.take(first);
  CHECK_FALSE(node.value("metrics: [vcpu_user_percent]", "neuron.vcpu.vcpu_user_percent", {"3"}));
  node.meters.take(second);
  CHECK(node.value("metrics: [vcpu_user_percent]", "neuron.vcpu.vcpu_user_percent", {"3"}) == 25);
  CHECK(node.value("metrics: [cpu_average_usage]", "neuron.system.cpu_average_usage") == 25);
  CHECK(node.value("metrics: [vcpu_count]", "neuron.system.vcpu_count") == 1);
}
