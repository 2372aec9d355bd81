// Is the driver loaded, which one, and is it still the same load?
//
// For the collector, at each cycle, and for a device's worker between reads. Reads /sys/module/neuron only.
//
//   const Driver driver = read_driver(sysfs);
//   if (driver.state != DriverState::Live) return;   // nothing below neuron_device may be read
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "agent/sources/files.h"
#include "agent/sources/reading.h"

namespace nobs::sources {

struct Version {
  int major = 0, minor = 0, patch = 0;
  auto operator<=>(const Version&) const = default;
};
// "2.30.2.0" -> 2.30.2; at least two numbers.
std::optional<Version> parse_version(std::string_view text);

// The tree was reorganised with this version (driver reference, section 4).
inline constexpr Version kFirstLayoutB{2, 31, 0};
// Before it, reading sysfs while the driver loads or unloads could crash the kernel (section 14.5).
inline constexpr Version kSafeTeardown{2, 26, 5};

struct Driver {
  DriverState state = DriverState::NotLoaded;
  std::string version_text;
  std::optional<Version> version;
  std::string load;  // differs after each load of the module; empty when not loaded

  // Files must not stay open, and nothing is read right after a load. Also when the version is not known.
  bool is_fragile() const { return !version || *version < kSafeTeardown; }
};

Driver read_driver(const Root& sysfs);
// Cheaper: only whether the driver may be read now.
bool is_live(const Root& sysfs);

// Counters of two different epochs must not be compared: another boot, or another load of the driver.
std::string make_epoch(std::string_view boot_id, std::string_view load);

}  // namespace nobs::sources
