// The agent's JSON as text for people. Pure; whatever is missing in an answer is shown as "-".
#pragma once

#include <string>

#include "agent/nobs/text.h"
#include "shared/json/value.h"

namespace nobs::cli {

struct View {
  Page page;
  WallTime now{};
  bool wide = false;
};

std::string status_text(const json::Value& snapshot, const View& view);
std::string devices_text(const json::Value& list, const View& view);  // of /devices: items
std::string faults_text(const json::Value& list, const View& view);   // of /faults: items
std::string event_line(const json::Value& event, const View& view);

Style style_of_health(const std::string& health);

// 0 healthy, 1 unhealthy, 2 unknown: of `health`, or the worst of the devices in `items`.
int health_code(const json::Value& answer);
// 1 when a Fatal one is among them.
int faults_code(const json::Value& list);

}  // namespace nobs::cli
