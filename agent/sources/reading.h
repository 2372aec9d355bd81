// What one cycle read of this node: plain values, nothing judged.
//
// Made by the collector, judged by agent/health. A value that could not be read, or that is not in the driver's grammar,
// is absent; why is said next to it. Immutable once made.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.h"

namespace nobs::sources {

enum class Layout { A, B, Unknown };

enum class DriverState {
  NotLoaded,  // no /sys/module/neuron
  Coming,     // initstate "coming", or just loaded: nothing is read yet
  Live,
  Unloading,  // initstate "going"
};

// Why a device could not be observed in this cycle.
enum class ReadProblem {
  None,
  NotYetRead,     // no cycle has finished for it yet
  Timeout,        // its worker has not answered by the deadline
  Gone,           // its directory vanished while it was read
  LayoutUnknown,  // the driver's tree has none of the files we know
  Denied,         // permission
};

// The hardware-related counters of a core: what the verdict rests on.
struct CoreReading {
  int index = 0;
  // Absent counters are not there, or unreadable. Keys: names of stats/status and stats/other_info.
  std::map<std::string, std::uint64_t, std::less<>> counters;
  std::optional<std::uint64_t> device_memory_bytes;
};

struct NamedValue {
  std::string_view name;  // static: Identity::key()
  std::uint64_t value = 0;
};

// What only metrics need, read less often than what health rests on. A value that could not be read is not in it.
struct DeviceTelemetry {
  struct Core {
    int index = 0;
    std::vector<NamedValue> values;
  };
  std::uint64_t number =
      0;  // counts up at each reading of this device; new ones are as of its read_at
  std::vector<NamedValue> device;
  std::vector<Core> cores;
};

struct EccReading {
  std::optional<std::uint64_t> sram_uncorrected, memory_uncorrected, memory_repairable_uncorrected;
  std::optional<std::uint64_t> sram_corrected, memory_corrected;

  bool operator==(const EccReading&) const = default;
};

// One minute of power, in percent of the maximum above idle; updated once a minute.
struct PowerReading {
  bool valid = false;                // false: the driver has no data for that minute
  std::uint64_t closed_seconds = 0;  // Unix time at which the minute ended; old during a reset
  double minimum = 0, maximum = 0, average = 0;
};

struct DeviceReading {
  int index = 0;
  ReadProblem problem = ReadProblem::NotYetRead;
  std::string problem_detail;  // the file and the errno, for the message
  SteadyTime read_at{};        // when the values below were complete
  std::string serial;          // 16 hex digits; empty: the driver gave none
  bool serial_stable = false;  // the same, known serial before and after the ECC files
  std::optional<int> state;    // file `reset`: 0 resetting, 1 ready, 2 invalid; absent without root
  EccReading ecc;
  std::optional<std::vector<std::string>> unhealthy_components;  // present and empty: healthy
  bool reported_unreachable =
      false;                     // unhealthy_components or the heartbeat say device_unreachable
  std::optional<int> heartbeat;  // 0 to 255, wrapping
  std::optional<std::uint64_t> hw_error_event;
  std::optional<PowerReading> power;
  std::vector<CoreReading> cores;
  std::shared_ptr<const DeviceTelemetry> telemetry;  // the newest; null: nothing wanted, or gone
  std::string instance_family;                       // "Trn2"
  std::string device_name;                           // "Trainium2"
  std::string architecture;                          // "NDv3"
  std::string core_architecture;                     // "NCv3"
  std::string connected_devices;   // "12, 1, 3, 4": hard-coded in the driver, says nothing of links
  std::uint64_t memory_bytes = 0;  // from the table; 0: unknown
  std::vector<std::string> missing;   // identities this driver should have and has not
  std::vector<std::string> unparsed;  // identities whose value is not in the driver's grammar
  int layout_conflicts = 0;           // names found in two places; the shortest path was read
};

struct NodeReading {
  std::uint64_t version = 0;  // counts up by one each cycle
  WallTime at{};
  SteadyTime steady{};
  DriverState driver = DriverState::NotLoaded;
  std::string driver_version;  // "2.30.2.0"
  Layout layout = Layout::Unknown;
  std::string instance_type;  // "trn2.48xlarge" from DMI; empty: unknown
  std::string instance_id;    // "i-…"; empty: unknown
  std::string boot_id;
  std::string epoch;         // boot id + load of the module; changes when the driver is reloaded
  int expected_devices = 0;  // from the instance table, else PCI functions present; 0: unknown
  int pci_functions = 0;     // Neuron functions on the PCI bus
  std::vector<DeviceReading> devices;  // by index; a device that is not there is not in it
};

std::string_view to_string(Layout layout);      // "A", "B", "unknown"
std::string_view to_string(DriverState state);  // "not_loaded", …
std::string_view to_string(
    ReadProblem problem);  // "ReadTimeout", …: the reasons of design section 4

}  // namespace nobs::sources
