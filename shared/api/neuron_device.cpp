#include "shared/api/neuron_device.h"

#include "shared/api/names.h"
#include "shared/base/rfc3339.h"
#include "shared/base/strings.h"

namespace nobs::api {
namespace {

json::Value fault_list(const std::vector<Fault>& faults) {
  json::Array list;
  for (const auto& fault : faults) list.push_back(to_json(fault));
  return list;
}

void set_if(json::Value& object, std::string_view key, const std::optional<std::int64_t>& value) {
  if (value) object[key] = *value;
}

// A patch must name what is gone, so absent counters are null.
json::Value ecc_json(const EccCounts& ecc) {
  json::Value value = json::object({{"sramUncorrected", nullptr},
                                    {"memUncorrected", nullptr},
                                    {"memRepairableUncorrected", nullptr},
                                    {"sramCorrected", nullptr},
                                    {"memCorrected", nullptr}});
  set_if(value, "sramUncorrected", ecc.sram_uncorrected);
  set_if(value, "memUncorrected", ecc.memory_uncorrected);
  set_if(value, "memRepairableUncorrected", ecc.memory_repairable_uncorrected);
  set_if(value, "sramCorrected", ecc.sram_corrected);
  set_if(value, "memCorrected", ecc.memory_corrected);
  return value;
}

Result<std::vector<Fault>> parse_faults(const json::Value& list) {
  std::vector<Fault> faults;
  for (const auto& item : list.items()) {
    auto fault = parse_fault(item);
    if (!fault) return fault.error();
    faults.push_back(std::move(*fault));
  }
  return faults;
}

DeviceFacts parse_facts(const json::Value& value) {
  DeviceFacts facts;
  facts.name = value["name"].string_or("");
  facts.architecture = value["architecture"].string_or("");
  facts.instance_type = value["instanceType"].string_or("");
  facts.driver_version = value["driverVersion"].string_or("");
  facts.cores = static_cast<int>(value["cores"].int_or(0));
  facts.memory_bytes = static_cast<std::uint64_t>(value["memoryBytes"].int_or(0));
  facts.layout = value["layout"].string_or("unknown");
  for (const auto& item : value["capabilities"].items())
    facts.capabilities.push_back(item.string_or(""));
  return facts;
}

Result<void> parse_status(const json::Value& status, NeuronDevice& device) {
  const auto health = parse_health(status["health"].string_or(""));
  if (!health)
    return invalid("status.health: \"" + printable(status["health"].string_or(""), 40) +
                   "\" is not known");
  const auto since = parse_rfc3339(status["since"].string_or(""));
  if (!since) return invalid("status.since: " + since.error().message);
  const auto reported = parse_rfc3339(status["lastReportTime"].string_or(""));
  if (!reported) return invalid("status.lastReportTime: " + reported.error().message);
  auto faults = parse_faults(status["faults"]);
  if (!faults) return invalid("status.faults: " + faults.error().message);
  auto warnings = parse_faults(status["warnings"]);
  if (!warnings) return invalid("status.warnings: " + warnings.error().message);
  device.health = *health;
  device.reason = status["reason"].string_or("");
  device.message = status["message"].string_or("");
  device.since = *since;
  device.generation = status["faultGeneration"].int_or(0);
  device.action = parse_action(status["recommendedAction"].string_or("")).value_or(Action::None);
  device.device = parse_facts(status["device"]);
  device.faults = std::move(*faults);
  device.warnings = std::move(*warnings);
  const auto& ecc = status["ecc"];
  device.ecc = {ecc["sramUncorrected"].if_int(), ecc["memUncorrected"].if_int(),
                ecc["memRepairableUncorrected"].if_int(), ecc["sramCorrected"].if_int(),
                ecc["memCorrected"].if_int()};
  device.boot_id = status["bootID"].string_or("");
  device.epoch = status["epoch"].string_or("");
  device.reported = *reported;
  device.traceparent = status["traceparent"].string_or("");
  device.has_status = true;
  return {};
}

}  // namespace

Result<NeuronDevice> parse_device(const json::Value& object) {
  NeuronDevice device;
  const auto& metadata = object["metadata"];
  const auto& spec = object["spec"];
  device.name = metadata["name"].string_or("");
  device.uid = metadata["uid"].string_or("");
  device.resource_version = metadata["resourceVersion"].string_or("");
  device.acknowledge = metadata["annotations"][kAcknowledgeAnnotation].string_or("");
  device.has_managed_fields = !metadata["managedFields"].items().empty();
  device.node = spec["nodeName"].string_or("");
  device.node_uid = spec["nodeUID"].string_or("");
  device.instance_id = spec["instanceID"].string_or("");
  device.serial = spec["serialNumber"].string_or("");
  const auto index = spec["index"].int_or(-1);
  if (device.name.empty()) return invalid("NeuronDevice: metadata.name is missing");
  const std::string where = "NeuronDevice " + device.name + ": ";
  if (device.node.empty()) return invalid(where + "spec.nodeName is missing");
  if (index < 0 || index > 255)
    return invalid(where + "spec.index is missing or not within 0 to 255");
  device.index = static_cast<int>(index);
  if (object["status"]["health"].is_null()) return device;  // created, not reported yet
  if (auto parsed = parse_status(object["status"], device); !parsed)
    return invalid(where + parsed.error().message);
  return device;
}

json::Value device_object(const NeuronDevice& device) {
  json::Value metadata = json::object(
      {{"name", device.name},
       {"labels", json::object({{std::string(kNodeLabel), node_label_value(device.node)}})}});
  if (!device.node_uid.empty()) {
    // The node takes its devices with it; incidents stay.
    metadata["ownerReferences"] = json::array({json::object({{"apiVersion", "v1"},
                                                             {"kind", "Node"},
                                                             {"name", device.node},
                                                             {"uid", device.node_uid}})});
  }
  return json::object({
      {"apiVersion", kGroupVersion},
      {"kind", kNeuronDevices.kind},
      {"metadata", std::move(metadata)},
      {"spec", json::object({{"nodeName", device.node},
                             {"nodeUID", device.node_uid},
                             {"instanceID", device.instance_id},
                             {"index", device.index},
                             {"serialNumber", device.serial}})},
  });
}

json::Value device_status(const NeuronDevice& device) {
  const auto& facts = device.device;
  const std::string message = utf8(device.message, kMaxMessage);
  const std::string since = format_seconds(device.since);
  const char* condition = device.health == Health::Healthy     ? "True"
                          : device.health == Health::Unhealthy ? "False"
                                                               : "Unknown";
  return json::object({
      {"health", to_string(device.health)},
      {"reason", device.reason},
      {"message", message},
      {"since", since},
      {"faultGeneration", device.generation},
      {"recommendedAction", to_string(device.action)},
      {"conditions",
       json::array({json::object({{"type", "Healthy"},
                                  {"status", condition},
                                  {"lastTransitionTime", since},
                                  {"reason", device.reason.empty() ? "Healthy" : device.reason},
                                  {"message", message}})})},
      {"device", json::object({{"name", facts.name},
                               {"architecture", facts.architecture},
                               {"instanceType", facts.instance_type},
                               {"cores", facts.cores},
                               {"memoryBytes", facts.memory_bytes},
                               {"driverVersion", facts.driver_version},
                               {"layout", facts.layout},
                               {"capabilities", json::Array(facts.capabilities.begin(),
                                                            facts.capabilities.end())}})},
      {"faults", fault_list(device.faults)},
      {"warnings", fault_list(device.warnings)},
      {"ecc", ecc_json(device.ecc)},
      {"bootID", device.boot_id},
      {"epoch", device.epoch},
      {"lastReportTime", format_seconds(device.reported)},
      {"traceparent", device.traceparent},
  });
}

}  // namespace nobs::api
