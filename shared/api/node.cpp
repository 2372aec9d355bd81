#include "shared/api/node.h"

#include <algorithm>

#include "shared/api/names.h"
#include "shared/base/rfc3339.h"

namespace nobs::api {
namespace {

constexpr std::int64_t kMaxRepeats = 1'000'000;  // a person may have written anything

}  // namespace

std::string dump_quarantine(const Quarantine& quarantine) {
  json::Array devices(quarantine.devices.begin(), quarantine.devices.end());
  json::Value value = json::object({
      {"owner", quarantine.owner},
      {"nodeUID", quarantine.node_uid},
      {"since", format_micros(quarantine.since)},
      {"generation", quarantine.generation},
      {"devices", std::move(devices)},
      {"reason", quarantine.reason},
      {"priorUnschedulable", quarantine.prior_unschedulable},
      {"cordoned", quarantine.cordoned},
      {"policy", quarantine.policy},
      {"traceparent", quarantine.traceparent},
      {"active", quarantine.active},
      {"overriddenGeneration", quarantine.overridden_generation},
      {"repeats", quarantine.repeats},
  });
  if (quarantine.lifted != WallTime{}) value["lifted"] = format_micros(quarantine.lifted);
  return json::dump(value);
}

Result<Quarantine> parse_quarantine(const std::string& text) {
  const auto value = json::parse(text);
  if (!value)
    return invalid("annotation " + std::string(kQuarantineAnnotation) + ": " +
                   value.error().message);
  Quarantine quarantine;
  const auto since = parse_rfc3339((*value)["since"].string_or(""));
  quarantine.owner = (*value)["owner"].string_or("");
  quarantine.node_uid = (*value)["nodeUID"].string_or("");
  const auto active = (*value)["active"].if_bool();
  const auto cordoned = (*value)["cordoned"].if_bool();
  const auto prior = (*value)["priorUnschedulable"].if_bool();
  if (quarantine.owner != kOperator || quarantine.node_uid.empty() || !since || !active ||
      !cordoned || !prior) {
    return invalid(
        "annotation " + std::string(kQuarantineAnnotation) +
        ": owner, nodeUID, since, active, cordoned or priorUnschedulable is missing or wrong");
  }
  quarantine.since = *since;
  quarantine.active = *active;
  quarantine.cordoned = *cordoned;
  quarantine.prior_unschedulable = *prior;
  quarantine.generation = (*value)["generation"].int_or(0);
  for (const auto& device : (*value)["devices"].items()) {
    const auto index = device.int_or(-1);
    if (index < 0 || index > 255) {
      return invalid("annotation " + std::string(kQuarantineAnnotation) +
                     ": devices are not numbers from 0 to 255");
    }
    quarantine.devices.push_back(static_cast<int>(index));
  }
  if (quarantine.active && quarantine.devices.empty()) {
    return invalid("annotation " + std::string(kQuarantineAnnotation) +
                   ": active, and names no devices");
  }
  quarantine.reason = (*value)["reason"].string_or("");
  quarantine.policy = (*value)["policy"].string_or("");
  quarantine.traceparent = (*value)["traceparent"].string_or("");
  quarantine.overridden_generation = (*value)["overriddenGeneration"].int_or(0);
  quarantine.repeats = std::clamp<std::int64_t>((*value)["repeats"].int_or(0), 0, kMaxRepeats);
  if (const auto lifted = parse_rfc3339((*value)["lifted"].string_or("")))
    quarantine.lifted = *lifted;
  return quarantine;
}

Result<Node> parse_node(const json::Value& object) {
  Node node;
  const auto& metadata = object["metadata"];
  const auto& spec = object["spec"];
  node.name = metadata["name"].string_or("");
  node.uid = metadata["uid"].string_or("");
  if (node.name.empty() || node.uid.empty())
    return invalid("Node: metadata.name or metadata.uid is missing");
  node.resource_version = metadata["resourceVersion"].string_or("");
  node.deleting = !metadata["deletionTimestamp"].is_null();
  for (const auto& [key, value] : metadata["labels"].members())
    node.labels[key] = value.string_or("");
  node.has_annotations = metadata["annotations"].is_object();
  if (const auto* text = metadata["annotations"][kQuarantineAnnotation].if_string())
    node.quarantine_text = *text;
  if (const auto* text = metadata["annotations"][kHoldAnnotation].if_string()) node.hold = *text;
  node.ignored = metadata["labels"][kIgnoreLabel].string_or("") == "true";
  node.unschedulable = spec["unschedulable"].bool_or(false);
  node.raw_unschedulable = spec["unschedulable"];
  for (const auto& entry : metadata["managedFields"].items()) {
    if (entry["fieldsV1"]["f:spec"].contains("f:unschedulable")) {
      // There may be two: who applies the value that we set owns it beside us, and the order says nothing.
      const std::string manager = entry["manager"].string_or("");
      if (node.unschedulable_manager.empty() || manager != kOperator)
        node.unschedulable_manager = manager;
    }
  }
  node.raw_taints = spec["taints"];
  for (const auto& taint : node.raw_taints.items()) {
    node.taints.push_back(
        {taint["key"].string_or(""), taint["value"].string_or(""), taint["effect"].string_or("")});
  }
  for (const auto& condition : object["status"]["conditions"].items()) {
    if (condition["type"].string_or("") == "Ready")
      node.ready = condition["status"].string_or("") == "True";
  }
  for (const auto& [resource, amount] : object["status"]["capacity"].members()) {
    if (resource.starts_with("aws.amazon.com/neuron")) node.has_neuron = true;
  }
  return node;
}

}  // namespace nobs::api
