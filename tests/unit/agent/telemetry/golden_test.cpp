// What a whole scrape shows of a node, per device family, against tests/golden/scrape-<instance>.txt.
// NOBS_UPDATE_GOLDEN=1 writes the files anew; read the difference before it is committed.
#include <doctest/doctest.h>

#include <cstdlib>

#include "agent/sources/collector.h"
#include "agent/telemetry/families.h"
#include "shared/base/file.h"
#include "tests/sim/tree/tree.h"
#include "tests/support/directory.h"
#include "tests/support/fake_clock.h"

using namespace nobs;
using namespace std::chrono_literals;

namespace {

// Two readings four seconds apart, between which every core was busy and an adapter received.
std::string scrape_of(const std::string& instance) {
  const test::Directory place;
  test::FakeClock clock;
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(clock.now().time_since_epoch());
  sim::DriverTree tree(place.path(),
                       {.instance = instance, .power_timestamp = std::int64_t{now.count()}});
  const sources::Root sysfs(place.path("sys")), proc(place.path("proc"));
  sources::Collector collector({place.path("sys"), place.path("proc")}, clock,
                               {.deadline = 20s, .telemetry_interval = 1s});
  const auto exports = telemetry::parse_exports(telemetry::default_exports_yaml()).exports;
  collector.want(std::make_shared<const std::set<std::string, std::less<>>>(exports.driver_keys()));
  telemetry::Meters meters;
  sources::NodeReading reading;
  sources::FabricReading fabric;
  for (int round = 0; round < 2; ++round) {
    for (int device = 0; device < tree.devices(); ++device) {
      tree.set_power(device, now.count(), 12.31, 47.9, 33.07);
      for (int core = 0; core < tree.cores(); ++core) {
        tree.set_core(device, core, "nc_time_in_use",
                      static_cast<std::uint64_t>(round) * 1'000'000 * (core + 1));
        tree.set_core(device, core, "success", static_cast<std::uint64_t>(100 * (round + core)));
        tree.set_core(device, core, "device_mem", 1'000'000'000);
      }
    }
    tree.set_raw("proc/stat", "cpu  " + std::to_string(4000 + 100 * round) +
                                  " 40 400 40000 80 0 16 0 0 0\ncpu0 " +
                                  std::to_string(4000 + 100 * round) +
                                  " 40 400 40000 80 0 16 0 0 0\nctxt 7\n");
    reading = collector.collect({});
    for (auto& device : reading.devices)
      device.read_at = clock.steady();  // not the real time it took
    meters.take(reading);
    fabric = sources::read_fabric(sysfs, exports.efa_counters());
    meters.take(fabric);
    meters.take(sources::read_system(proc));
    clock.advance(4s);
  }
  std::string text;
  for (const auto& family : telemetry::families_of(meters, exports))
    append_text(text, family, metrics::TextFormat::Prometheus);
  for (const auto& family :
       telemetry::info_families(reading, fabric.ultraserver, {}, meters, exports))
    append_text(text, family, metrics::TextFormat::Prometheus);
  return text;
}

}  // namespace

TEST_CASE("a whole scrape is what the golden file of its device family says") {
  for (const char* instance : {"inf2.xlarge", "trn1.2xlarge", "trn2.3xlarge", "trn3pd98.3xlarge"}) {
    CAPTURE(instance);
    const std::string path =
        std::string(NOBS_SOURCE_DIR) + "/tests/golden/scrape-" + instance + ".txt";
    const std::string text = scrape_of(instance);
    if (std::getenv("NOBS_UPDATE_GOLDEN") != nullptr)  // NOLINT(concurrency-mt-unsafe)
      REQUIRE(write_file_atomically(path, text));
    const auto golden = read_file(path, 1U << 20);
    REQUIRE(golden);
    CHECK(text == *golden);
  }
}
