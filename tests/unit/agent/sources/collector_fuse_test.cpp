#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <future>
#include <thread>

#include "agent/sources/collector.h"
#include "tests/sim/tree/mount_or_skip.h"
#include "tests/sim/tree/tree.h"
#include "tests/support/directory.h"
#include "tests/support/eventually.h"
#include "tests/support/fake_clock.h"

namespace {

using namespace nobs;
using namespace nobs::sources;
using namespace std::chrono_literals;
using nobs::sim::DriverTree;
using nobs::test::Directory;

const std::stop_token kNever;
constexpr const char* kEvent = "stats/hardware/health_status/hw_error_event";

// A mounted tree, read as sysfs is: with descriptors that stay open.
struct Node {
  // The deadline is far away where it is not the matter: the machine may be busy.
  explicit Node(sim::TreeOptions options, CollectorOptions reading = {.deadline = 30s})
      : tree(place.path(), std::move(options)),
        fuse(sim::mount_or_skip(place.path(), mountpoint.path())) {
    reading.keep = KeepFiles::Always;
    if (fuse)
      collector.emplace(Roots{mountpoint.path() + "/sys", mountpoint.path() + "/proc"}, clock,
                        reading);
  }
  NodeReading collect() { return collector->collect(kNever); }
  // Descriptors of this process that are below the mount.
  int open_files() const {
    int count = 0;
    for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code ignored;
      const std::string target = std::filesystem::read_symlink(file.path(), ignored);
      if (target.starts_with(mountpoint.path() + "/sys/devices")) ++count;
    }
    return count;
  }

  const Directory place, mountpoint;
  DriverTree tree;
  std::unique_ptr<sim::FuseTree> fuse;
  test::FakeClock clock;
  std::optional<Collector> collector;
};

}  // namespace

TEST_CASE("a read that hangs makes that device unknown within three seconds, and no other") {
  Node node({.instance = "trn1.32xlarge"}, {.deadline = 2s});
  if (!node.fuse) return;
  const auto readable = [&] {
    const NodeReading reading = node.collect();
    return std::ranges::count(reading.devices, ReadProblem::None, &DeviceReading::problem);
  };
  REQUIRE(test::eventually(30s, [&] { return readable() == 16; }));
  const std::string ecc = node.tree.path(3, "stats/hardware/mem_ecc_uncorrected");
  node.fuse->hang(ecc);
  node.tree.add_ecc(5, "mem_ecc_uncorrected");
  const auto start = std::chrono::steady_clock::now();
  NodeReading reading = node.collect();
  CHECK(std::chrono::steady_clock::now() - start < 3s);
  CHECK(reading.devices.at(3).problem == ReadProblem::Timeout);
  CHECK(reading.devices.at(3).problem_detail.starts_with("mem_ecc_uncorrected has not answered"));
  CHECK(reading.devices.at(3).device_name == "Trainium1");
  CHECK(reading.devices.at(3).serial.empty());
  CHECK(reading.devices.at(5).ecc.memory_uncorrected == 1);
  CHECK(std::ranges::count(reading.devices, ReadProblem::None, &DeviceReading::problem) == 15);

  // The next cycles do not wait for it again, and ask it nothing more.
  const auto later = std::chrono::steady_clock::now();
  for (int cycle = 0; cycle < 5; ++cycle) reading = node.collect();
  CHECK(std::chrono::steady_clock::now() - later < 8s);  // five deadlines are ten
  CHECK(reading.devices.at(3).problem == ReadProblem::Timeout);
  CHECK(node.fuse->hanging() == 1);

  node.fuse->release(ecc);
  CHECK(test::eventually(30s, [&] { return readable() == 16; }));
}

TEST_CASE(
    "a stuck read keeps nobody from leaving, and a device that returns gets no second reader") {
  Node node({.instance = "trn2.3xlarge"}, {.deadline = 100ms});
  if (!node.fuse) return;
  const std::string device = node.tree.path(0, "stats");
  node.fuse->hang(device);
  CHECK(node.collect().devices.at(0).problem == ReadProblem::Timeout);
  REQUIRE(test::eventually(5s, [&] { return node.fuse->hanging() == 1; }));
  node.tree.remove_device(0);
  CHECK(node.collect().devices.empty());
  node.tree.restore_device(0);
  CHECK_FALSE(test::eventually(500ms, [&] {
    CHECK(node.collect().devices.at(0).problem == ReadProblem::Timeout);
    return node.fuse->hanging() > 1;
  }));
  const auto start = std::chrono::steady_clock::now();
  node.collector.reset();
  CHECK(std::chrono::steady_clock::now() - start < 5s);
}

TEST_CASE("an event of a device ends the wait at once, once, and shows what changed") {
  Node node({.instance = "trn2.3xlarge"});
  if (!node.fuse) return;
  node.collect();
  CHECK_FALSE(node.collector->wait_for_event(20ms, kNever));
  auto waiting =
      std::async(std::launch::async, [&] { return node.collector->wait_for_event(1min, kNever); });
  node.tree.hbm_uncorrectable(0);
  node.fuse->notify(node.tree.path(0, kEvent));
  CHECK(waiting.get());
  CHECK(node.collect().devices.at(0).hw_error_event == 1);
  CHECK_FALSE(node.collector->wait_for_event(20ms, kNever));
}

TEST_CASE("a file that cries wolf is not listened to until its value changes") {
  Node node({.instance = "trn2.3xlarge"});
  if (!node.fuse) return;
  node.collect();
  const std::string event = node.tree.path(0, kEvent);
  int alarms = 0;
  for (int cycle = 0; cycle < 20; ++cycle) {
    node.fuse->notify(event);  // before the wait: it returns at once
    if (!node.collector->wait_for_event(5ms, kNever)) break;
    ++alarms;
    node.collect();
  }
  CHECK(alarms == 3);
  node.tree.component(0, "sram");
  node.collect();
  node.fuse->notify(event);
  CHECK(node.collector->wait_for_event(5s, kNever));
}

TEST_CASE(
    "a device that went away under open files is gone, costs no loop, and is read anew when it is "
    "back") {
  Node node({.instance = "trn2.3xlarge"});
  if (!node.fuse) return;
  node.collect();
  CHECK(node.open_files() > 100);
  node.tree.remove_device(0);
  node.fuse->notify(node.tree.path(0, kEvent));
  CHECK(node.collector->wait_for_event(5s, kNever));
  CHECK(node.collect().devices.empty());
  CHECK(test::eventually(5s, [&] { return node.open_files() == 0; }));
  CHECK_FALSE(node.collector->wait_for_event(20ms, kNever));
  node.tree.replace_device(0);
  CHECK(node.collect().devices.at(0).serial == node.tree.serial(0));
}

TEST_CASE("no descriptor stays open while the driver is being unloaded") {
  Node node({.instance = "trn2.3xlarge"});
  if (!node.fuse) return;
  node.collect();
  CHECK(node.open_files() > 100);
  const std::string epoch = node.collect().epoch;
  node.tree.set_initstate("going");
  CHECK(node.collect().driver == DriverState::Unloading);
  CHECK(node.open_files() == 0);
  node.tree.reload_driver();
  const NodeReading reading = node.collect();
  CHECK(reading.epoch != epoch);
  CHECK(reading.devices.at(0).problem == ReadProblem::None);
}

TEST_CASE("an old driver keeps no descriptor open, and is asked nothing more once it is going") {
  Node node({.instance = "trn1.2xlarge", .driver_version = "2.25.4.0"},
            {.deadline = 30s, .settle = 0ms});
  if (!node.fuse) return;
  CHECK(node.collect().devices.at(0).problem == ReadProblem::None);
  CHECK(node.open_files() == 0);
  // The unload begins while the device is read.
  const std::string ecc = node.tree.path(0, "stats/hardware/sram_ecc_uncorrected");
  node.fuse->hang(ecc);
  auto reading = std::async(std::launch::async, [&] { return node.collect(); });
  REQUIRE(test::eventually(5s, [&] { return node.fuse->hanging() == 1; }));
  node.tree.set_initstate("going");
  node.fuse->release(ecc);
  const DeviceReading device = reading.get().devices.at(0);
  CHECK(device.problem == ReadProblem::Gone);
  CHECK(device.cores.empty());
}

TEST_CASE("unloading in the middle of reads leaves no wrong value and no crash") {
  Node node({.instance = "trn2.3xlarge"});
  if (!node.fuse) return;
  std::jthread changes([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) node.tree.reload_driver();
  });
  for (int cycle = 0; cycle < 200; ++cycle)
    for (const DeviceReading& device : node.collect().devices) {
      if (device.serial_stable) CHECK(device.serial == node.tree.serial(0));
      if (device.ecc.memory_uncorrected) CHECK(device.ecc.memory_uncorrected == 0);
    }
}

TEST_CASE("errors of single files are told with the file, and only that value is absent") {
  Node node({.instance = "trn2.3xlarge"});
  if (!node.fuse) return;
  node.fuse->fail(node.tree.path(0, "stats/hardware/mem_ecc_uncorrected"), EIO);
  const DeviceReading device = node.collect().devices.at(0);
  CHECK(device.problem == ReadProblem::None);
  CHECK(device.problem_detail == "stats/hardware/mem_ecc_uncorrected: Input/output error");
  CHECK_FALSE(device.ecc.memory_uncorrected);
  CHECK(device.ecc.sram_uncorrected == 0);
}
