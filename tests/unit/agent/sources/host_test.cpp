// The sources beside the devices: /proc, EFA, UltraServer.
#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <thread>

#include "agent/sources/fabric.h"
#include "agent/sources/periodic.h"
#include "agent/sources/system.h"
#include "tests/sim/tree/tree.h"
#include "tests/support/directory.h"

using namespace nobs;
using namespace nobs::sources;
using nobs::test::Directory;
using namespace std::chrono_literals;

namespace {

std::set<std::string, std::less<>> all_efa() {
  return {efa_counters().begin(), efa_counters().end()};
}

}  // namespace

TEST_CASE("CPU times and memory of the host are read") {
  const Directory place;
  const sim::DriverTree tree(place.path(), {.instance = "trn2.3xlarge"});
  const auto now = read_system(Root(place.path("proc")));
  CHECK(now.cpus.size() == 2);
  REQUIRE(now.all);
  CHECK(now.all->user == 4000);
  CHECK(now.context_switches == 123'456);
  CHECK(now.memory_total == 2'113'634'304ULL * 1024);
  CHECK(now.memory_used == (2'113'634'304ULL - 2'050'000'000ULL) * 1024);
  CHECK(now.swap_used == 0);
}

TEST_CASE("text that is not in /proc's grammar is left out") {
  SystemReading reading;
  parse_stat(
      "cpu 1 2\ncpu0 1 2 3 4 5 6 7 x\ncpuX 1 2 3 4 5 6 7 8\ncpu99999 1 2 3 4 5 6 7 8\nctxt -1\n",
      reading);
  CHECK_FALSE(reading.all);
  CHECK(reading.cpus.empty());
  CHECK_FALSE(reading.context_switches);
  parse_meminfo("MemTotal 5 kB\nMemAvailable: 7 kB\nSwapTotal: 3\nSwapFree: 9 kB\n\xff\xfe",
                reading);
  CHECK_FALSE(reading.memory_total);
  CHECK_FALSE(reading.memory_used);
  CHECK_FALSE(reading.swap_used);  // more is free than there is
}

TEST_CASE("no time between two readings, or another boot, gives no share") {
  const CpuTimes now{10, 0, 0, 10, 0, 0, 0, 0};
  CHECK_FALSE(share_between(now, now));
  CHECK_FALSE(share_between({20, 0, 0, 20, 0, 0, 0, 0}, now));
  // iowait may fall by itself.
  const auto share = share_between({10, 0, 0, 10, 5, 0, 0, 0}, {20, 0, 0, 20, 0, 0, 0, 0});
  REQUIRE(share);
  CHECK(share->iowait == 0);
  CHECK(share->user == 50);
}

TEST_CASE("EFA's counters are read per device and port, and only those that are wanted") {
  const Directory place;
  sim::DriverTree tree(place.path(), {.instance = "trn1.32xlarge"});
  tree.set_efa(2, "rx_bytes", 77);
  const Root sysfs(place.path("sys"));
  const auto all = read_fabric(sysfs, all_efa());
  REQUIRE(all.ports.size() == 8);
  CHECK(all.ports[2].device == "rdmap18s27");
  CHECK(all.ports[2].port == "1");
  CHECK(all.ports[2].counters.size() == 22);
  CHECK(all.ports[2].counters.find("rx_bytes")->second == 77);
  CHECK(read_fabric(sysfs, {"tx_pkts"}).ports[0].counters.size() == 1);
}

TEST_CASE("an EFA counter that is not there or no number is absent") {
  const Directory place;
  const sim::DriverTree tree(place.path(), {.instance = "trn1.32xlarge"});
  const std::string counters = "sys/class/infiniband/rdmap16s27/ports/1/hw_counters/";
  std::filesystem::remove(place.path(counters + "retrans_pkts"));
  place.file(counters + "rx_bytes", "error\n");
  const auto port = read_fabric(Root(place.path("sys")), all_efa()).ports.at(0);
  CHECK(port.counters.size() == 20);
  CHECK_FALSE(port.counters.contains("rx_bytes"));
  CHECK(port.failed == 1);
}

TEST_CASE("an RDMA adapter of another vendor is not EFA") {
  const Directory place;
  const sim::DriverTree tree(place.path(), {.instance = "trn1.32xlarge"});
  place.file("sys/class/infiniband/rdmap16s27/device/vendor", "0x15b3\n");
  CHECK(read_fabric(Root(place.path("sys")), all_efa()).ports.size() == 7);
}

TEST_CASE("the UltraServer is known where the node is a member of one") {
  const Directory place;
  const auto read = [&](const std::string& instance) {
    const sim::DriverTree tree(place.path(), {.instance = instance});
    return read_fabric(Root(place.path("sys")), {}).ultraserver;
  };
  const auto member = read("trn2u.48xlarge");
  CHECK(member.id == "6b3f1a00c2d47e11");
  CHECK(member.mode == "1,3,4");
  CHECK(member.size == 4);
  CHECK(member.index == 2);
  const auto alone = read("trn2.3xlarge");
  CHECK(alone.id.empty());
  CHECK_FALSE(alone.index);
}

TEST_CASE("a source that hangs is late, keeps its last value and delays nobody") {
  auto entered = std::make_shared<std::promise<void>>();
  auto release = std::make_shared<std::promise<void>>();
  auto reads = std::make_shared<std::atomic<int>>(0);
  {
    const Periodic<int> source(1ms, 1ms, [=] {
      if (++*reads == 2) {
        entered->set_value();
        release->get_future().wait();
      }
      return 7;
    });
    REQUIRE(entered->get_future().wait_for(10s) == std::future_status::ready);
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    while (!source.latest().is_late && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    CHECK(source.latest().is_late);
    REQUIRE(source.latest().value);
    CHECK(*source.latest().value == 7);
  }  // ends although the read does not
  release->set_value();
}
