#include "agent/health/node_verdict.h"

#include "shared/base/strings.h"

namespace nobs::health {

NodeVerdict node_verdict(const Memory& memory) {
  using api::Health;
  int unhealthy = 0;
  int unknown = 0;
  std::string first_reason;
  std::string list;
  for (const auto wanted : {Health::Unhealthy, Health::Unknown}) {
    for (const auto& [index, slot] : memory.slots) {
      if (slot.health != wanted) continue;
      ++(wanted == Health::Unhealthy ? unhealthy : unknown);
      if (first_reason.empty()) first_reason = slot.reason;
      if (!list.empty()) list += ", ";
      list += "neuron" + std::to_string(index) + " " + slot.reason;
    }
  }
  const std::string total = std::to_string(memory.slots.size());
  NodeVerdict verdict;
  if (memory.slots.empty()) {
    verdict = {"Unknown", "NoDevices", "no Neuron device is known on this node"};
  } else if (unhealthy > 0) {
    verdict = {"False", first_reason,
               std::to_string(unhealthy) + " of " + total + " devices unhealthy" +
                   (unknown > 0 ? ", " + std::to_string(unknown) + " unknown" : "") + ": " + list};
  } else if (unknown > 0) {
    verdict = {"Unknown", first_reason,
               std::to_string(unknown) + " of " + total + " devices unknown: " + list};
  } else {
    verdict = {"True", "AllHealthy", "all " + total + " devices are healthy"};
  }
  verdict.message = utf8(verdict.message, 1024);
  return verdict;
}

}  // namespace nobs::health
