#include "tests/demo/fleet.h"

#include <algorithm>

#include "shared/api/names.h"
#include "shared/base/strings.h"

namespace nobs::demo {

json::Value namespace_object() {
  return json::object({{"apiVersion", "v1"},
                       {"kind", "Namespace"},
                       {"metadata", json::object({{"name", api::kDefaultNamespace}})}});
}

json::Value node_object(const std::string& name) {
  const auto labels = json::object(
      {{"kubernetes.io/hostname", name}, {"node.kubernetes.io/instance-type", "trn2.48xlarge"}});
  const auto ready = json::object({{"type", "Ready"}, {"status", "True"}});
  return json::object({{"apiVersion", "v1"},
                       {"kind", "Node"},
                       {"metadata", json::object({{"name", name}, {"labels", labels}})},
                       {"status", json::object({{"conditions", json::array({ready})}})}});
}

json::Value policy_object(std::chrono::seconds quiet_time) {
  const std::string quiet = std::to_string(quiet_time.count()) + "s";
  return json::object(
      {{"apiVersion", api::kGroupVersion},
       {"kind", api::kPolicies.kind},
       {"metadata", json::object({{"name", api::kDefaultPolicy}})},
       {"spec", json::object({{"mode", "Enforce"},
                              {"budget", json::object({{"maxUnavailable", 2}})},
                              {"recovery", json::object({{"quietTime", quiet}})}})}});
}

api::Node read_node(kube::Client& client, const std::string& name) {
  const auto object = client.get(api::kNodes, "", name, {});
  if (!object) return {};
  auto parsed = api::parse_node(*object);
  return parsed ? std::move(*parsed) : api::Node{};
}

bool has_our_taint(const api::Node& node) {
  return std::any_of(node.taints.begin(), node.taints.end(),
                     [](const auto& taint) { return taint.key == api::kTaintKey; });
}

std::string read_condition(kube::Client& client, const std::string& node) {
  const auto object = client.get(api::kNodes, "", node, {});
  if (!object) return {};
  for (const auto& entry : (*object)["status"]["conditions"].items()) {
    if (entry["type"].string_or("") == api::kNodeCondition) return entry["status"].string_or("");
  }
  return {};
}

api::NeuronDevice read_device(kube::Client& client, const std::string& node, int index) {
  const auto object = client.get(api::kNeuronDevices, "", api::device_name(node, index), {});
  if (!object) return {};
  auto parsed = api::parse_device(*object);
  return parsed ? std::move(*parsed) : api::NeuronDevice{};
}

std::vector<api::NeuronDevice> read_devices(kube::Client& client, const std::string& node) {
  std::vector<api::NeuronDevice> devices;
  const auto listed =
      client.list_all(api::kNeuronDevices, "", {.field_selector = "spec.nodeName=" + node}, {});
  if (!listed) return devices;
  for (const auto& item : *listed) {
    if (auto parsed = api::parse_device(item)) devices.push_back(std::move(*parsed));
  }
  return devices;
}

std::vector<std::vector<std::string>> read_events(kube::Client& client) {
  std::vector<std::vector<std::string>> rows;
  auto events = client.list_all(api::kEvents, "default", {}, {});
  if (!events) return rows;
  std::stable_sort(events->begin(), events->end(), [](const auto& a, const auto& b) {
    return a["eventTime"].string_or("") < b["eventTime"].string_or("");
  });
  for (const auto& event : *events) {
    rows.push_back({event["regarding"]["name"].string_or(""), event["reason"].string_or(""),
                    utf8(event["note"].string_or(""), 100)});
  }
  return rows;
}

}  // namespace nobs::demo
