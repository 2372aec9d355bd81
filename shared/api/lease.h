// The agent's heartbeat Lease: who reports for a node, and until when that is believed.
#pragma once

#include <chrono>
#include <string>

#include "shared/base/clock.h"
#include "shared/base/result.h"
#include "shared/json/value.h"

namespace nobs::api {

inline constexpr std::chrono::seconds kHeartbeatInterval{30};
inline constexpr std::chrono::seconds kHeartbeatDuration{120};

struct Heartbeat {
  std::string name;  // of the Lease
  std::string node,
      node_uid;  // from holderIdentity, "<node>_<uid>": a node of the same name is another node
  WallTime renewed{};
  std::chrono::seconds duration = kHeartbeatDuration;

  bool alive(WallTime now) const { return now - renewed <= duration; }
  bool operator==(const Heartbeat&) const = default;
};

std::string heartbeat_holder(std::string_view node, std::string_view node_uid);
json::Value heartbeat_object(std::string_view ns, std::string_view node, std::string_view node_uid,
                             WallTime renewed);
Result<Heartbeat> parse_heartbeat(const json::Value& object);

}  // namespace nobs::api
