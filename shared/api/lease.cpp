#include "shared/api/lease.h"

#include "shared/api/names.h"
#include "shared/base/rfc3339.h"

namespace nobs::api {

std::string heartbeat_holder(std::string_view node, std::string_view node_uid) {
  return std::string(node) + "_" + std::string(node_uid);
}

json::Value heartbeat_object(std::string_view ns, std::string_view node, std::string_view node_uid,
                             WallTime renewed) {
  return json::object({
      {"apiVersion", "coordination.k8s.io/v1"},
      {"kind", "Lease"},
      {"metadata", json::object({{"name", heartbeat_name(node)}, {"namespace", ns}})},
      {"spec", json::object({{"holderIdentity", heartbeat_holder(node, node_uid)},
                             {"leaseDurationSeconds", static_cast<int>(kHeartbeatDuration.count())},
                             {"renewTime", format_micros(renewed)}})},
  });
}

Result<Heartbeat> parse_heartbeat(const json::Value& object) {
  Heartbeat heartbeat;
  heartbeat.name = object["metadata"]["name"].string_or("");
  const auto& spec = object["spec"];
  const std::string holder = spec["holderIdentity"].string_or("");
  const size_t cut = holder.rfind('_');  // neither node names nor UIDs contain one
  const auto renewed = parse_rfc3339(spec["renewTime"].string_or(""));
  if (cut == std::string::npos || cut == 0 || cut + 1 == holder.size() || !renewed) {
    return invalid("Lease " + heartbeat.name + ": holderIdentity or renewTime is not an agent's");
  }
  heartbeat.node = holder.substr(0, cut);
  heartbeat.node_uid = holder.substr(cut + 1);
  heartbeat.renewed = *renewed;
  const auto seconds = spec["leaseDurationSeconds"].int_or(kHeartbeatDuration.count());
  if (seconds < 1 || seconds > 3600)
    return invalid("Lease " + heartbeat.name + ": leaseDurationSeconds is not within 1 to 3600");
  heartbeat.duration = std::chrono::seconds(seconds);
  return heartbeat;
}

}  // namespace nobs::api
