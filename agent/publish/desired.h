// What should stand in the API for what the judge says: NeuronDevices and the Node condition. Pure.
#pragma once

#include <string>
#include <vector>

#include "agent/health/memory.h"
#include "agent/health/node_verdict.h"
#include "agent/sources/reading.h"
#include "shared/api/neuron_device.h"
#include "shared/base/clock.h"
#include "shared/json/value.h"

namespace nobs::publish {

// What the main loop hands over after each cycle. Immutable.
struct Report {
  std::uint64_t version = 0;
  WallTime at{};
  health::Memory memory;
  sources::NodeReading reading;  // for the facts of node and driver
  bool restored = false;  // what earlier agents published is in it: only then may it be published
};

// One object for each slot, as the API would give it back (times in whole seconds, texts cut to their bounds).
std::vector<api::NeuronDevice> desired_devices(const Report& report, const std::string& node,
                                               const std::string& node_uid);

// The status patch of the Node: a strategic merge patch of our condition alone. Null when `current` says the same
// already. lastTransitionTime moves only when the status changes.
json::Value condition_patch(const health::NodeVerdict& verdict, const json::Value& current,
                            WallTime now);

enum class Difference {
  None,
  Slow,  // counters and times only: published at most every five minutes
  Now,   // anything a person or the operator would act on
};
Difference difference(const api::NeuronDevice& desired, const api::NeuronDevice& published);

}  // namespace nobs::publish
