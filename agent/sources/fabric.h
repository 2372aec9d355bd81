// EFA's counters, per device and port, and this node's place in an UltraServer.
//
// For the fabric source's thread. Every counter read is a command to the adapter (driver reference, section 10.1) and may
// fail or take long. A counter that the driver does not have, or that could not be read, is absent.
//
//   FabricReading now = read_fabric(Root("/sys"), wanted);
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/sources/files.h"
#include "agent/sources/reading.h"

namespace nobs::sources {

struct EfaPort {
  std::string device;                                          // "rdmap160s26", "efa_0"
  std::string port;                                            // "1"
  std::map<std::string, std::uint64_t, std::less<>> counters;  // by file name
  int failed = 0;  // counters that are there and could not be read
};

// Of the class files below class/neuron_device; empty: not part of an UltraServer, or not known.
struct UltraServer {
  std::string id;    // 16 hex digits
  std::string mode;  // "1,3,4"
  std::optional<int> size, index;
};

struct FabricReading {
  std::vector<EfaPort> ports;  // by device and port
  UltraServer ultraserver;
};

// The names of EFA's port counters that are metrics of ours; the file names.
const std::vector<std::string>& efa_counters();

FabricReading read_fabric(const Root& sysfs, const std::set<std::string, std::less<>>& wanted);

}  // namespace nobs::sources
