// What is shown as the HTTP API's JSON: the words of NeuronDevice, what is not known is absent. Pure.
//
// For api.cpp. The shapes are described in openapi.json; a test holds the two together.
#pragma once

#include <optional>
#include <string>

#include "agent/serve/board.h"
#include "shared/json/value.h"

namespace nobs::serve {

json::Value devices_json(const Shown& shown, const std::string& node,
                         std::optional<int> device = {});  // an array
json::Value snapshot_json(const Shown& shown, const std::string& node,
                          std::optional<int> device = {});

struct FaultFilter {
  std::optional<int> device;
  std::optional<api::FaultClass> fault;
  std::optional<api::Severity> severity;
};
// Active faults and warnings, worst first, each with its device.
json::Value faults_json(const Shown& shown, const std::string& node, const FaultFilter& filter);
json::Value sources_json(const Shown& shown);
json::Value event_json(const Event& event);

}  // namespace nobs::serve
