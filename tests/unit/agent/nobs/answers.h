// What an agent may answer, as JSON; tests show it.
#pragma once

#include <string>

#include "shared/base/rfc3339.h"
#include "shared/json/value.h"

namespace nobs::cli::test {

inline const char* const kDevices = R"([
  {"index": 0, "health": "healthy", "reason": "Healthy", "message": "no fault", "since": "2026-11-30T12:00:00Z",
   "serialNumber": "00000000000000a0", "faultGeneration": 0, "recommendedAction": "None", "faults": [], "warnings": [],
   "ecc": {"sramUncorrected": 0, "memUncorrected": 0, "memCorrected": 7}, "power": {"averagePercent": 12.5},
   "device": {"name": "Trainium2", "cores": 3, "memoryBytes": 103079215104},
   "cores": [{"index": 0, "counters": {"hw_error": 0, "success": 5}, "memoryBytes": 1073741824},
             {"index": 1, "counters": {"success": 5}, "memoryBytes": 1024}, {"index": 2, "counters": {}}],
   "readAt": "2026-11-30T14:00:00Z"},
  {"index": 1, "health": "unhealthy", "reason": "HBMUncorrectable", "since": "2026-11-30T13:30:00Z",
   "message": "A memory bank returned wrong data that the device could not repair; results since then cannot be trusted.",
   "serialNumber": "00000000000000a1", "faultGeneration": 4, "recommendedAction": "ReplaceNode",
   "faults": [{"class": "HBMUncorrectable", "severity": "Fatal"}], "warnings": [{}],
   "ecc": {"memUncorrected": 1}, "device": {}, "cores": [{"index": 0, "counters": {"hw_error": 1}}]},
  {"index": 2, "health": "unknown", "reason": "ReadTimeout", "problem": "ReadTimeout"}])";

inline json::Value devices() {
  return json::object(
      {{"version", 7}, {"at", "2026-11-30T14:00:00.000000Z"}, {"items", *json::parse(kDevices)}});
}

inline json::Value snapshot() {
  return json::object(
      {{"version", 7},
       {"at", "2026-11-30T14:00:00.000000Z"},
       {"node", "node-a"},
       {"instanceType", "trn2.48xlarge"},
       {"health", "unhealthy"},
       {"message",
        "1 of 3 devices unhealthy, 1 unknown: neuron1 HBMUncorrectable, neuron2 ReadTimeout"},
       {"driver", json::object({{"version", "2.30.2.0"}, {"layout", "A"}, {"state", "live"}})},
       {"expectedDevices", 16},
       {"devices", *json::parse(kDevices)}});
}

inline json::Value faults() {
  return *json::parse(R"({"version": 7, "items": [
    {"device": 1, "class": "HBMUncorrectable", "severity": "Fatal", "action": "ReplaceNode", "count": 2, "generation": 4,
     "verified": true, "serial": "00000000000000a1", "witnesses": ["A", "B"], "message": "seen",
     "firstSeen": "2026-11-30T13:30:00Z", "lastSeen": "2026-11-30T13:59:00Z"},
    {"device": 1, "class": "CollectivesHang", "severity": "Warning"}]})");
}

}  // namespace nobs::cli::test
