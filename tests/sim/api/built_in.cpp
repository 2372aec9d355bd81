#include "tests/sim/api/built_in.h"

#include <set>

#include "shared/base/rfc3339.h"

namespace nobs::sim {
namespace {

using json::Value;

void drop_nulls(Value& value) {
  if (const auto* items = value.if_array()) {
    json::Array clean = *items;
    for (auto& item : clean) drop_nulls(item);
    value = std::move(clean);
  } else if (value.is_object()) {
    const json::Object members = value.members();
    for (const auto& [key, member] : members) {
      if (member.is_null()) {
        value.erase(key);
      } else if (member.is_object() || member.is_array()) {
        drop_nulls(value[key]);
      }
    }
  }
}

bool is_empty(const Value& value) {
  return value.is_null() || (value.is_object() && value.members().empty()) ||
         (value.is_array() && value.items().empty());
}

void drop_empty(Value& object, std::initializer_list<const char*> keys) {
  for (const auto* key : keys) {
    if (object.contains(key) && is_empty(object[key])) object.erase(key);
  }
}

void normalize_node(Value& node) {
  Value& spec = node["spec"];
  if (!spec.is_object()) spec = json::Object{};
  drop_empty(spec, {"taints", "podCIDRs"});
  if (!std::as_const(spec)["unschedulable"].bool_or(false)) spec.erase("unschedulable");
  Value& status = node["status"];
  if (!status.contains("daemonEndpoints"))
    status["daemonEndpoints"] = json::object({{"kubeletEndpoint", json::object({{"Port", 0}})}});
  for (const auto* key :
       {"architecture", "bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion",
        "kubeletVersion", "machineID", "operatingSystem", "osImage", "systemUUID"}) {
    if (!status["nodeInfo"].contains(key)) status["nodeInfo"][key] = "";
  }
  drop_empty(status, {"conditions", "addresses", "capacity", "allocatable"});
  if (status.contains("conditions")) {
    json::Array conditions = status["conditions"].items();
    for (auto& condition : conditions) {
      for (const auto* time : {"lastHeartbeatTime", "lastTransitionTime"})
        if (!condition.contains(time)) condition[time] = nullptr;
    }
    status["conditions"] = std::move(conditions);
  }
}

// metav1.MicroTime: exactly six digits.
bool is_micro_time(const Value& value) {
  const auto* text = value.if_string();
  return text && text->size() == 27 && (*text)[19] == '.' && parse_rfc3339(*text);
}

std::string bad_micro_time(const Value& parent, std::initializer_list<const char*> keys) {
  for (const auto* key : keys) {
    if (parent.contains(key) && !parent[key].is_null() && !is_micro_time(parent[key]))
      return "parsing time " + json::dump(parent[key]) +
             " as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse";
  }
  return {};
}

std::string text_map_misfit(const Value& metadata, const char* key) {
  for (const auto& [name, value] : metadata[key].members()) {
    if (!value.is_string())
      return "json: cannot unmarshal into Go struct field ObjectMeta.metadata." + std::string(key) +
             " of type string";
  }
  return {};
}

void check_node(const Value& node, std::vector<Cause>& causes) {
  std::set<std::pair<std::string, std::string>> seen;
  const auto& taints = node["spec"]["taints"].items();
  for (size_t i = 0; i < taints.size(); ++i) {
    // The real server says metadata.taints, although they are in spec.
    const std::string field = "metadata.taints[" + std::to_string(i) + "]";
    const std::string key = taints[i]["key"].string_or("");
    const std::string effect = taints[i]["effect"].string_or("");
    if (key.empty())
      causes.push_back({"FieldValueInvalid", "Invalid value: \"\": name part must be non-empty",
                        field + ".key"});
    if (effect.empty()) {
      causes.push_back({"FieldValueRequired", "Required value", field + ".effect"});
    } else if (effect != "NoSchedule" && effect != "PreferNoSchedule" && effect != "NoExecute") {
      causes.push_back({"FieldValueNotSupported",
                        "Unsupported value: " + quoted(effect) +
                            ": supported values: \"NoSchedule\", \"PreferNoSchedule\", "
                            "\"NoExecute\"",
                        field + ".effect"});
    }
    if (!seen.emplace(key, effect).second) {
      const auto shown = "{\"Key\":" + quoted(key) +
                         ",\"Value\":" + quoted(taints[i]["value"].string_or("")) +
                         ",\"Effect\":" + quoted(effect) + ",\"TimeAdded\":null}";
      causes.push_back(
          {"FieldValueDuplicate",
           "Duplicate value: " + shown + ": taints must be unique by key and effect pair", field});
    }
  }
}

void check_lease(const Value& lease, std::vector<Cause>& causes) {
  const Value& seconds = lease["spec"]["leaseDurationSeconds"];
  if (seconds.is_number() && seconds.int_or(0) <= 0)
    causes.push_back({"FieldValueInvalid",
                      "Invalid value: " + json::dump(seconds) + ": must be greater than 0",
                      "spec.leaseDurationSeconds"});
  const Value& transitions = lease["spec"]["leaseTransitions"];
  if (transitions.is_number() && transitions.int_or(0) < 0)
    causes.push_back(
        {"FieldValueInvalid",
         "Invalid value: " + json::dump(transitions) + ": must be greater than or equal to 0",
         "spec.leaseTransitions"});
}

void check_event(const Value& event, std::vector<Cause>& causes) {
  for (const auto* key :
       {"eventTime", "reportingController", "reportingInstance", "action", "reason"}) {
    if (event[key].string_or("").empty())
      causes.push_back({"FieldValueRequired", "Required value", key});
  }
  const auto type = event["type"].string_or("");
  if (type != "Normal" && type != "Warning")
    causes.push_back(
        {"FieldValueInvalid", "Invalid value: \"\": has invalid value: " + type, "type"});
  if (event["note"].string_or("").size() > 1024)
    causes.push_back(
        {"FieldValueInvalid", "Invalid value: \"\": can have at most 1024 characters", "message"});
}

}  // namespace

void normalize(const Resource& resource, Value& object) {
  Value& metadata = object["metadata"];
  drop_nulls(metadata);
  drop_empty(metadata, {"labels", "annotations", "finalizers", "ownerReferences"});
  if (resource.custom) return;
  drop_nulls(object);
  if (resource.kind == "Node") normalize_node(object);
  if (resource.kind == "Lease" && !object.contains("spec")) object["spec"] = json::Object{};
  if (resource.kind == "Event") {
    if (!object.contains("deprecatedSource")) object["deprecatedSource"] = json::Object{};
    object["deprecatedFirstTimestamp"] = nullptr;
    object["deprecatedLastTimestamp"] = nullptr;
  }
}

void set_initial_status(const Resource& resource, Value& object) {
  if (resource.kind == "Pod")
    object["status"] = json::object({{"phase", "Pending"}, {"qosClass", "BestEffort"}});
  if (resource.kind == "Namespace") {
    object["status"] = json::object({{"phase", "Active"}});
    object["spec"] = json::object({{"finalizers", json::array({"kubernetes"})}});
    object["metadata"]["labels"]["kubernetes.io/metadata.name"] =
        std::as_const(object)["metadata"]["name"];
  }
}

std::string misfit(const Resource& resource, const Value& object) {
  const Value& metadata = object["metadata"];
  for (const auto* key : {"labels", "annotations"}) {
    if (auto text = text_map_misfit(metadata, key); !text.empty()) return text;
  }
  if (resource.kind == "Lease") return bad_micro_time(object["spec"], {"acquireTime", "renewTime"});
  if (resource.kind != "Event") return {};
  auto text = bad_micro_time(object, {"eventTime"});
  return text.empty() ? bad_micro_time(object["series"], {"lastObservedTime"}) : text;
}

std::vector<Cause> built_in_mistakes(const Resource& resource, const Value& object) {
  std::vector<Cause> causes;
  if (resource.kind == "Node") check_node(object, causes);
  if (resource.kind == "Lease") check_lease(object, causes);
  if (resource.kind == "Event") check_event(object, causes);
  return causes;
}

Value core_event(const Value& event) {
  Value result = event;
  result["apiVersion"] = "v1";
  result["involvedObject"] = event["regarding"];
  result["message"] = event["note"];
  result["reportingComponent"] = event["reportingController"];
  result["source"] = json::Object{};
  result["firstTimestamp"] = nullptr;
  result["lastTimestamp"] = nullptr;
  for (const auto* key : {"regarding", "note", "reportingController", "deprecatedSource",
                          "deprecatedFirstTimestamp", "deprecatedLastTimestamp"})
    result.erase(key);
  return result;
}

}  // namespace nobs::sim
