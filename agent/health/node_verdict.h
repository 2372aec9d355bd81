// One verdict for the node, folded over its devices: what the Node condition says. Pure.
#pragma once

#include <string>

#include "agent/health/memory.h"

namespace nobs::health {

struct NodeVerdict {
  std::string status = "Unknown";  // "True", "False", "Unknown"
  std::string reason;              // CamelCase, stable: does not name a device
  std::string message;             // names devices, at most 1,024 bytes

  bool operator==(const NodeVerdict&) const = default;
};

// False while any device is unhealthy; Unknown while any is unknown, or there is none; else True. Deterministic.
NodeVerdict node_verdict(const Memory& memory);

}  // namespace nobs::health
