#include "agent/sources/layout.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "agent/sources/instance.h"

namespace {

using namespace nobs::sources;

const Version kOld{2, 30, 2}, kNew{2, 31, 7};

std::string path_of(const DeviceLayout& layout, std::string_view name, int core = -1) {
  for (const Place& place : layout.places)
    if (place.identity->name() == name && place.core == core) return place.path;
  return "";
}

}  // namespace

TEST_CASE("an older driver's files are read at the table's places only") {
  const DeviceLayout layout =
      find_layout(kOld, {"stats/hardware/mem_ecc_uncorrected", "info/serial_number", "reset",
                         "copy/info/serial_number", "neuron_core1/stats/status/hw_error/total",
                         "neuron_core1/stats/status/hw_error/present"});
  CHECK(layout.layout == Layout::A);
  CHECK(layout.places.size() == 4);
  CHECK(path_of(layout, "serial_number") == "info/serial_number");
  CHECK(layout.cores == std::vector{1});
}

TEST_CASE("files that moved are found by their names, in any directory, for the right core") {
  const std::vector<std::string> files = {"health/mem_ecc_uncorrected",
                                          "x/y/z/serial_number",
                                          "cores/neuron_core5/s/hw_error/total",
                                          "cores/neuron_core5/s/hw_error/present",
                                          "nc_2/hw_error/total",
                                          "nc_2/hw_error/present",
                                          "neuron_core7/core_1/timeout/total",
                                          "neuron_core7/core_1/timeout/present"};
  for (const Version& version : {kNew, kOld}) {  // the version alone does not decide
    const DeviceLayout layout = find_layout(version, files);
    CHECK(layout.layout == Layout::B);
    CHECK(path_of(layout, "mem_ecc_uncorrected") == "health/mem_ecc_uncorrected");
    CHECK(path_of(layout, "hw_error", 5) == "cores/neuron_core5/s/hw_error/total");
    CHECK(path_of(layout, "hw_error", 2) == "nc_2/hw_error/total");
    CHECK(path_of(layout, "timeout", 7) == "neuron_core7/core_1/timeout/total");
    CHECK(layout.cores == std::vector{2, 5, 7});
  }
}

TEST_CASE("a name in two places is read at the shortest path, and the conflict is told") {
  const DeviceLayout layout =
      find_layout(kNew, {"legacy/hardware/mem_ecc_uncorrected", "hw/mem_ecc_uncorrected"});
  CHECK(path_of(layout, "mem_ecc_uncorrected") == "hw/mem_ecc_uncorrected");
  CHECK(layout.conflicts == 1);
}

TEST_CASE("a total without a present, or a counter outside a core, is not one of our counters") {
  CHECK(find_layout(kNew, {"neuron_core0/hw_error/total"}).places.empty());
  CHECK(find_layout(kNew, {"hw_error/total", "hw_error/present"}).places.empty());
}

TEST_CASE("a tree that tells nothing about health is an unknown layout, not a healthy device") {
  CHECK(find_layout(kOld, {}).layout == Layout::Unknown);
  CHECK(find_layout(kNew, {"info/serial_number", "reset", "a/b"}).layout == Layout::Unknown);
  CHECK(find_layout(kNew, {"info/serial_number", "reset", "a/b"}).places.empty());
}

TEST_CASE("only what this driver has on this family can be missing") {
  const auto missing = [](Version version, std::string_view family) {
    return find_missing({}, version, family);
  };
  const auto has = [](const std::vector<std::string>& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  CHECK(has(missing(kOld, "Trn2"), "unhealthy_components"));
  CHECK_FALSE(has(missing(kOld, "Trn1"), "unhealthy_components"));
  CHECK_FALSE(has(missing({2, 29}, "Trn2"), "unhealthy_components"));
  CHECK(has(missing({2, 28}, "Trn3"), "hw_error_event"));
  CHECK_FALSE(has(missing({2, 22}, "Trn2"), "mem_ecc_repairable_uncorrected"));
  CHECK(find_missing({}, std::nullopt, "Trn2").empty());

  // One core of eight.
  const DeviceLayout one = find_layout(kOld, {"neuron_core0/stats/status/hw_error/total"});
  CHECK(has(find_missing(one, kOld, "Trn2"), "hw_error"));
}

TEST_CASE("drivers before 2.26.5, and unknown ones, are handled with care") {
  CHECK(parse_version("2.30.2.0") == Version{2, 30, 2});
  for (const char* wrong : {"", "2", "2.x", "2.30.2.0.1", "-2.1", "2.30.2.0-rc1"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_version(wrong));
  }
  const auto fragile = [](const char* text) {
    Driver driver;
    driver.version = parse_version(text);
    return driver.is_fragile();
  };
  CHECK(fragile("2.26.4.0"));
  CHECK(fragile("2.9.4.0"));
  CHECK(fragile("unreadable"));
  CHECK_FALSE(fragile("2.26.5.0"));
  CHECK_FALSE(fragile("2.30.2.0"));
}

TEST_CASE("an epoch is another one after a reload and after a reboot") {
  CHECK(make_epoch("boot-1", "a") == make_epoch("boot-1", "a"));
  CHECK(make_epoch("boot-1", "a") != make_epoch("boot-1", "b"));
  CHECK(make_epoch("boot-1", "a") != make_epoch("boot-2", "a"));
  CHECK(make_epoch("boot-1", "") == "boot-1");
}

TEST_CASE("instance types are known exactly, so that a missing device is seen") {
  REQUIRE(find_instance("trn2.48xlarge") != nullptr);
  CHECK(find_instance("trn2.48xlarge")->devices == 16);
  CHECK(find_instance("trn3e.24xlarge")->devices == 4);
  CHECK(find_instance("inf2.48xlarge")->devices == 12);
  CHECK(find_instance("trn2.48xlarge")->device_memory_bytes == 103'079'215'104);
  CHECK(find_instance("trn2") == nullptr);
  CHECK(find_instance("") == nullptr);
  REQUIRE(find_family("Trn3") != nullptr);
  CHECK(find_family("Trn3")->memory_bytes == 154'618'822'656);
  CHECK(is_neuron_function("0x1d0f", "0x7364"));
  CHECK_FALSE(is_neuron_function("0x1d0f", "0xefa2"));
  CHECK_FALSE(is_neuron_function("0x10de", "0x7364"));
}
