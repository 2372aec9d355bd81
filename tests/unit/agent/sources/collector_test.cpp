#include "agent/sources/collector.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <future>

#include "tests/sim/tree/profile.h"
#include "tests/sim/tree/tree.h"
#include "tests/support/directory.h"
#include "tests/support/eventually.h"
#include "tests/support/fake_clock.h"

namespace {

using namespace nobs;
using namespace nobs::sources;
using namespace std::chrono_literals;
using nobs::sim::DriverTree;
using nobs::sim::TreeLayout;
using nobs::test::Directory;

const std::stop_token kNever;

Roots roots_of(const std::string& root) { return {root + "/sys", root + "/proc"}; }

int open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<int>(std::distance(begin(files), end(files)));
}

bool contains(const std::vector<std::string>& all, std::string_view one) {
  return std::ranges::find(all, one) != all.end();
}

// A tree on a plain directory, and a collector that has done its first cycle.
struct Node {
  explicit Node(sim::TreeOptions options) : tree(place.path(), std::move(options)) {}
  NodeReading collect() { return collector.collect(kNever); }

  const Directory place;
  DriverTree tree;
  test::FakeClock clock;
  Collector collector{roots_of(place.path()), clock, {.deadline = 30s, .settle = 0ms}};
};

}  // namespace

TEST_CASE("every instance type is read whole, with nothing missing") {
  for (const sim::Profile& profile : sim::profiles()) {
    CAPTURE(profile.instance);
    Node node({.instance = std::string(profile.instance)});
    const NodeReading reading = node.collect();
    CHECK(reading.driver == DriverState::Live);
    CHECK(reading.layout == Layout::A);
    CHECK(reading.instance_type == profile.instance);
    CHECK(reading.expected_devices == profile.devices);
    CHECK(reading.pci_functions == profile.devices);
    REQUIRE(reading.devices.size() == static_cast<size_t>(profile.devices));
    for (int index = 0; index < profile.devices; ++index) {
      const DeviceReading& device = reading.devices[static_cast<size_t>(index)];
      CHECK(device.index == index);
      CHECK(device.problem == ReadProblem::None);
      CHECK(device.serial == node.tree.serial(index));
      CHECK(device.serial_stable);
      CHECK(device.state == 1);
      CHECK(device.ecc == EccReading{0, 0, 0, 0, 0});
      CHECK(device.unhealthy_components.has_value() == profile.health_directory);
      CHECK(device.heartbeat.has_value() == profile.health_directory);
      CHECK(device.missing.empty());
      CHECK(device.unparsed.empty());
      REQUIRE(device.cores.size() == static_cast<size_t>(profile.cores));
      CHECK(device.cores.back().index == profile.cores - 1);
      CHECK(device.cores.back().counters.size() == 9);
      REQUIRE(device.telemetry);
      CHECK(device.telemetry->device.size() == 8);
      REQUIRE(device.telemetry->cores.size() == device.cores.size());
      CHECK(device.telemetry->cores.back().values.size() == 32);
      CHECK(device.cores.back().counters.find("reset_req_count")->second == 1);
      CHECK(device.cores.back().device_memory_bytes == 0);
      CHECK(device.device_name == profile.device_name);
      CHECK(device.memory_bytes > 0);
    }
  }
}

TEST_CASE("a fault is read the same from every layout and driver that can show it") {
  const sim::TreeOptions options[] = {
      {.instance = "trn2.3xlarge"},
      {.instance = "trn2.3xlarge", .layout = TreeLayout::SyntheticB1},
      {.instance = "trn2.3xlarge", .layout = TreeLayout::SyntheticB2},
      {.instance = "trn2.3xlarge", .layout = TreeLayout::SyntheticB3},
      {.instance = "trn2.3xlarge", .driver_version = "2.25.4.0"},
      {.instance = "trn1.2xlarge", .driver_version = "2.19.64.0"},
  };
  for (const sim::TreeOptions& option : options) {
    Node node(option);
    CAPTURE(node.tree.options().driver_version);
    CAPTURE(sim::to_string(option.layout));
    node.collect();
    node.tree.hbm_uncorrectable(0, 1);
    node.tree.set_core(0, 1, "device_mem", 9'663'676'416);
    const NodeReading reading = node.collect();
    CHECK(reading.layout == (option.layout == TreeLayout::A ? Layout::A : Layout::B));
    REQUIRE(reading.devices.size() == 1);
    const DeviceReading& device = reading.devices[0];
    CHECK(device.ecc.memory_uncorrected == 1);
    CHECK(device.cores[1].counters.find("hw_hbm_ue_error")->second == 1);
    CHECK(device.cores[0].counters.find("hw_hbm_ue_error")->second == 0);
    CHECK(device.cores[1].device_memory_bytes == 9'663'676'416);
    CHECK(device.missing.empty());
    const bool shows_components = reading.driver_version >= "2.30";
    CHECK(device.unhealthy_components.has_value() == shows_components);
    if (shows_components) CHECK(contains(*device.unhealthy_components, "hbm"));
  }
}

TEST_CASE("a missing driver, device or root is a state, and their return is seen") {
  Node node({.instance = "inf2.24xlarge"});
  const std::string epoch = node.collect().epoch;
  node.tree.remove_device(2);
  NodeReading reading = node.collect();
  CHECK(reading.devices.size() == 5);
  CHECK(reading.expected_devices == 6);
  CHECK(reading.pci_functions == 5);
  CHECK(reading.epoch == epoch);
  node.tree.replace_device(2);
  reading = node.collect();
  REQUIRE(reading.devices.size() == 6);
  CHECK(reading.devices[2].serial == node.tree.serial(2));

  node.tree.set_initstate("going");
  CHECK(node.collect().driver == DriverState::Unloading);
  CHECK(node.collect().devices.empty());
  node.tree.unload_driver();
  reading = node.collect();
  CHECK(reading.driver == DriverState::NotLoaded);
  CHECK(reading.devices.empty());
  CHECK(reading.pci_functions == 6);
  node.tree.load_driver();
  reading = node.collect();
  CHECK(reading.devices.size() == 6);
  CHECK(reading.epoch != epoch);

  Collector nothing({"/nonexistent/sys", "/nonexistent/proc"}, node.clock);
  CHECK(nothing.collect(kNever).driver == DriverState::NotLoaded);
}

TEST_CASE("another boot is another epoch") {
  Node node({.instance = "trn1.2xlarge"});
  const std::string epoch = node.collect().epoch;
  node.tree.reboot("00000000-0000-0000-0000-000000000002");
  const NodeReading reading = node.collect();
  CHECK(reading.boot_id == "00000000-0000-0000-0000-000000000002");
  CHECK(reading.epoch != epoch);
}

TEST_CASE("an old driver is left alone for some seconds after it was loaded") {
  const Directory place;
  DriverTree tree(place.path(), {.instance = "trn1.2xlarge", .driver_version = "2.25.4.0"});
  test::FakeClock clock;
  Collector collector(roots_of(place.path()), clock, {.deadline = 30s, .settle = 5s});
  CHECK(collector.collect(kNever).driver == DriverState::Coming);
  CHECK(collector.collect(kNever).devices.empty());
  clock.advance(5s);
  CHECK(collector.collect(kNever).devices.size() == 1);
  tree.reload_driver();
  CHECK(collector.collect(kNever).driver == DriverState::Coming);
}

TEST_CASE("during a reset the error counters are absent, not zero") {
  Node node({.instance = "trn2.3xlarge"});
  node.tree.add_ecc(0, "mem_ecc_uncorrected", 3);
  node.tree.reset_in_progress(0);
  const DeviceReading device = node.collect().devices.at(0);
  CHECK(device.state == 0);
  CHECK_FALSE(device.serial_stable);
  CHECK(device.ecc == EccReading{});
  node.tree.reset_done(0);
  CHECK(node.collect().devices.at(0).ecc.memory_uncorrected == 3);
}

TEST_CASE("all ones are not a serial number to trust error counters by") {
  Node node({.instance = "trn1.2xlarge"});
  node.tree.fell_off_bus(0);
  const DeviceReading device = node.collect().devices.at(0);
  CHECK_FALSE(device.serial_stable);
  CHECK(device.ecc.sram_uncorrected == 65'535);
}

TEST_CASE("an unreachable device says so, and names no components") {
  Node node({.instance = "trn2.3xlarge"});
  node.tree.unreachable(0);
  const DeviceReading device = node.collect().devices.at(0);
  CHECK(device.reported_unreachable);
  CHECK_FALSE(device.unhealthy_components);
  CHECK_FALSE(device.heartbeat);
}

TEST_CASE("nonsense is no value, is named, and spoils nothing else") {
  Node node({.instance = "trn2.3xlarge"});
  const std::string ecc = node.tree.path(0, "stats/hardware/mem_ecc_uncorrected");
  for (const std::string& nonsense :
       {std::string("garbage\n"), std::string("-1\n"), std::string("  7\n"), std::string("1\n2\n"),
        std::string(5000, '7'), std::string("\n")}) {
    node.tree.set_raw(ecc, nonsense);
    const DeviceReading device = node.collect().devices.at(0);
    CHECK_FALSE(device.ecc.memory_uncorrected);
    CHECK(device.ecc.sram_uncorrected == 0);
    CHECK(device.unparsed == std::vector<std::string>{"stats/hardware/mem_ecc_uncorrected"});
    CHECK(device.serial_stable);
  }
  node.tree.set_raw(ecc, "");  // an internal index out of range: no value, and no wrong one
  const DeviceReading device = node.collect().devices.at(0);
  CHECK_FALSE(device.ecc.memory_uncorrected);
  CHECK(device.unparsed.empty());
  node.tree.set_raw(ecc, "4");
  CHECK(node.collect().devices.at(0).ecc.memory_uncorrected == 4);
}

TEST_CASE("a leaf that is not there is missing by name, and found when it appears") {
  Node node({.instance = "trn2.3xlarge"});
  const std::string ecc =
      node.place.path() + "/" + node.tree.path(0, "stats/hardware/mem_ecc_corrected");
  std::filesystem::remove(ecc);
  DeviceReading device = node.collect().devices.at(0);
  CHECK(device.problem == ReadProblem::None);
  CHECK(device.missing == std::vector<std::string>{"mem_ecc_corrected"});
  CHECK_FALSE(device.ecc.memory_corrected);
  std::ofstream(ecc) << "5\n";
  for (int cycle = 0; cycle < 4 && !device.missing.empty(); ++cycle)
    device = node.collect().devices.at(0);
  CHECK(device.missing.empty());
  CHECK(device.ecc.memory_corrected == 5);
}

TEST_CASE("a tree that grows after a load is not yet read; one that stays strange is unknown") {
  Node node({.instance = "trn1.2xlarge"});
  const std::string device = node.place.path() + "/" + node.tree.path(0, "");
  for (const auto& entry : std::filesystem::directory_iterator(device))
    std::filesystem::remove_all(entry.path());
  CHECK(node.collect().devices.at(0).problem == ReadProblem::NotYetRead);
  ReadProblem problem = ReadProblem::None;
  for (int cycle = 0; cycle < 20; ++cycle) problem = node.collect().devices.at(0).problem;
  CHECK(problem == ReadProblem::LayoutUnknown);
  CHECK(node.collect().layout == Layout::Unknown);
  node.tree.replace_device(0);
  CHECK(node.collect().devices.at(0).problem == ReadProblem::None);
}

TEST_CASE(
    "what only root may read is absent for others, and a closed directory is said to be closed") {
  if (::geteuid() != 0) return;  // others own what they made
  Node node({.instance = "trn1.2xlarge", .driver_version = "2.27.4.0"});
  std::filesystem::permissions(node.place.path(), std::filesystem::perms(0755));
  REQUIRE(::seteuid(65'534) == 0);
  const DeviceReading open = node.collect().devices.at(0);
  REQUIRE(::seteuid(0) == 0);
  CHECK(open.problem == ReadProblem::None);
  CHECK_FALSE(open.state);
  CHECK(open.problem_detail == "reset: Permission denied");
  CHECK(open.ecc.memory_uncorrected == 0);

  for (const auto& entry : std::filesystem::recursive_directory_iterator(node.place.path() + "/" +
                                                                         node.tree.path(0, "")))
    if (entry.is_regular_file() && !entry.is_symlink())
      std::filesystem::permissions(entry.path(), std::filesystem::perms(0));
  REQUIRE(::seteuid(65'534) == 0);
  const DeviceReading closed = node.collect().devices.at(0);
  REQUIRE(::seteuid(0) == 0);
  CHECK(closed.problem == ReadProblem::Denied);
}

TEST_CASE("a link that leads out of the root is not followed") {
  Node node({.instance = "trn1.2xlarge"});
  std::ofstream(node.place.path() + "/outside") << "7\n";
  const std::string ecc =
      node.place.path() + "/" + node.tree.path(0, "stats/hardware/mem_ecc_uncorrected");
  node.collect();
  std::filesystem::remove(ecc);
  std::filesystem::create_symlink(node.place.path() + "/outside", ecc);
  CHECK_FALSE(node.collect().devices.at(0).ecc.memory_uncorrected);
  const Root root(node.place.path() + "/sys");
  CHECK_FALSE(root.text("../outside"));
  CHECK(root.text("class/dmi/id/product_name") == "trn1.2xlarge\n");
}

TEST_CASE("a thousand cycles with devices coming and going keep no descriptor and no thread") {
  // A worker of an earlier test may still be ending, and a sanitizer has a thread of its own: nothing may come on top.
  const int before = open_files();
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  };
  const auto threads_before = threads();
  {
    Node node({.instance = "trn1.2xlarge"});
    node.collect();
    const int running = open_files();
    for (int cycle = 0; cycle < 1'000; ++cycle) {
      if (cycle % 100 == 50) node.tree.remove_device(0);
      if (cycle % 100 == 60) node.tree.restore_device(0);
      node.collect();
    }
    CHECK(open_files() == running);
  }
  CHECK(test::eventually(5s, [&] { return open_files() <= before; }));
  CHECK(test::eventually(5s, [&] { return threads() <= threads_before; }));
}

TEST_CASE("the wait for an event ends with the time, with a wake and with a stop") {
  Node node({.instance = "trn2.3xlarge"});
  node.collect();
  const auto start = std::chrono::steady_clock::now();
  CHECK_FALSE(node.collector.wait_for_event(50ms, kNever));  // a plain file never notifies
  CHECK(std::chrono::steady_clock::now() - start >= 50ms);
  node.collector.wake();
  CHECK(node.collector.wait_for_event(1min, kNever));
  std::stop_source stop;
  auto waiting = std::async(std::launch::async,
                            [&] { return node.collector.wait_for_event(1min, stop.get_token()); });
  stop.request_stop();
  CHECK_FALSE(waiting.get());
}
