// Where a device's values are: by table before driver 2.31 (layout A), by their names wherever they are after (B).
//
// For the device reader, once per device and load. Pure: works on a list of paths. Layout B's table is not public;
// what is found by name survives files that moved, not files that were renamed (driver reference, section 4).
//
//   const DeviceLayout layout = find_layout(version, files_below(device, 8, 20'000));
//   for (const Place& place : layout.places) read(place.path);
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/sources/driver.h"
#include "agent/sources/reading.h"

namespace nobs::sources {

// What a value is in a reading. The order is the order in which a device is read: what an event announces first,
// then the error counters between two reads of the serial number.
enum class Field {
  Architecture,
  InstanceFamily,
  DeviceName,
  State,
  HwErrorEvent,
  Components,
  Heartbeat,
  Power,
  Serial,
  MemoryUncorrected,
  MemoryRepairable,
  SramUncorrected,
  SramCorrected,
  MemoryCorrected,
  ConnectedDevices,
  CoreArchitecture,
  CoreCounter,
  CoreMemory,
  // Read at the slower pace of metrics, and only what is wanted.
  HostMemory,
  CoreTelemetry,
};

struct Identity {
  Field field;
  Version since;          // first driver that has it
  std::string_view path;  // layout A: below the device, or below neuron_core<C> for a core's

  bool is_core() const {
    return field == Field::CoreArchitecture || field == Field::CoreCounter ||
           field == Field::CoreMemory || field == Field::CoreTelemetry;
  }
  bool is_counter() const {  // a directory with total and present
    return field >= Field::CoreCounter;
  }
  bool is_constant() const {
    return field <= Field::DeviceName || field == Field::ConnectedDevices ||
           field == Field::CoreArchitecture;
  }
  bool is_telemetry() const { return field >= Field::HostMemory; }
  // Only on families that have this directory.
  bool is_health() const { return path.find("/health_status/") != std::string_view::npos; }
  // By which layout B finds it: of the file, or of the counter's directory.
  std::string_view name() const {
    const std::string_view named = without_total();
    return named.substr(named.rfind('/') + 1);
  }
  // The directory that tells it from another of its name: "host_mem", "device_mem" or none.
  std::string_view within() const;
  // "device_mem/tensors", else its name: unique among a device's values and among a core's.
  std::string_view key() const;
  std::string_view without_total() const {
    std::string_view named = path;
    if (is_counter()) named.remove_suffix(std::string_view("/total").size());
    return named;
  }
};

struct Place {
  const Identity* identity;  // static
  int core;                  // -1: of the device
  std::string path;          // below the device's directory
};

struct DeviceLayout {
  Layout layout = Layout::Unknown;
  std::vector<Place> places;  // device first, then core by core; each in reading order
  std::vector<int> cores;
  int conflicts = 0;  // identities found in more than one place
};

// Keys of what is read at the pace of metrics: first a device's, then a core's.
std::vector<std::string_view> telemetry_keys();

// The first driver that has the file of this key; nothing: no such file is known.
std::optional<Version> first_driver_with(std::string_view key);

DeviceLayout find_layout(const std::optional<Version>& version,
                         const std::vector<std::string>& files);

// Names that a driver of this version has on this family and that were not found; a core's name once.
std::vector<std::string> find_missing(const DeviceLayout& layout,
                                      const std::optional<Version>& version,
                                      std::string_view family);

}  // namespace nobs::sources
