#include "tests/sim/api/resources.h"

#include "shared/base/strings.h"

namespace nobs::sim {
namespace {

const std::string kCreated = ".metadata.creationTimestamp";

Column age() { return {.name = "Age", .type = "date", .path = kCreated}; }
Column text(std::string name, std::string path, int priority = 0) {
  return {.name = std::move(name), .type = "string", .path = std::move(path), .priority = priority};
}

std::vector<std::string> strings(const json::Value& list) {
  std::vector<std::string> result;
  for (const auto& item : list.items()) result.push_back(item.string_or(""));
  return result;
}

}  // namespace

std::vector<Resource> built_in_resources() {
  // A path that starts with "@" is worked out by table.cpp.
  const Column node_roles = text("Roles", "@node-roles");
  const std::vector<std::string> core_event_fields = {"involvedObject.kind",
                                                      "involvedObject.namespace",
                                                      "involvedObject.name",
                                                      "involvedObject.uid",
                                                      "involvedObject.apiVersion",
                                                      "involvedObject.fieldPath",
                                                      "reason",
                                                      "involvedObject.resourceVersion",
                                                      "type",
                                                      "reportingComponent"};
  return {
      {.version = "v1",
       .plural = "nodes",
       .singular = "node",
       .kind = "Node",
       .short_names = {"no"},
       .has_status = true,
       .unconditional_update = true,
       .columns = {text("Status", "@node-status"), node_roles, age(),
                   text("Version", ".status.nodeInfo.kubeletVersion"),
                   text("OS-Image", ".status.nodeInfo.osImage", 1),
                   text("Kernel-Version", ".status.nodeInfo.kernelVersion", 1),
                   text("Container-Runtime", ".status.nodeInfo.containerRuntimeVersion", 1)},
       .selectable = {"spec.unschedulable"}},
      {.version = "v1",
       .plural = "namespaces",
       .singular = "namespace",
       .kind = "Namespace",
       .short_names = {"ns"},
       .has_status = true,
       .unconditional_update = true,
       .columns = {text("Status", ".status.phase"), age()},
       .selectable = {"status.phase"}},
      {.version = "v1",
       .plural = "pods",
       .singular = "pod",
       .kind = "Pod",
       .short_names = {"po"},
       .namespaced = true,
       .has_status = true,
       .has_generation = true,
       .unconditional_update = true,
       .columns = {text("Ready", "@pod-ready"), text("Status", ".status.phase"), age(),
                   text("IP", ".status.podIP", 1), text("Node", ".spec.nodeName", 1)},
       .selectable = {"spec.nodeName", "spec.restartPolicy", "spec.schedulerName",
                      "spec.serviceAccountName", "status.phase", "status.podIP"}},
      {.version = "v1",
       .plural = "configmaps",
       .singular = "configmap",
       .kind = "ConfigMap",
       .short_names = {"cm"},
       .namespaced = true,
       .unconditional_update = true,
       .columns = {age()}},
      {.version = "v1",
       .plural = "events",
       .singular = "event",
       .kind = "Event",
       .short_names = {"ev"},
       .namespaced = true,
       .columns = {{.name = "Last Seen", .type = "date", .path = ".eventTime"},
                   text("Type", ".type"),
                   text("Reason", ".reason"),
                   text("Object", "@event-object"),
                   text("Message", ".message")},
       .selectable = core_event_fields,
       .view_of = "events.k8s.io/events"},
      {.group = "events.k8s.io",
       .version = "v1",
       .plural = "events",
       .singular = "event",
       .kind = "Event",
       .short_names = {"ev"},
       .namespaced = true,
       .unconditional_update = true,
       .columns = {{.name = "Last Seen", .type = "date", .path = ".eventTime"},
                   text("Type", ".type"),
                   text("Reason", ".reason"),
                   text("Object", "@event-object"),
                   text("Message", ".note")},
       .selectable = {"reason", "type", "reportingController", "regarding.kind", "regarding.name",
                      "regarding.namespace", "regarding.uid"}},
      {.group = "coordination.k8s.io",
       .version = "v1",
       .plural = "leases",
       .singular = "lease",
       .kind = "Lease",
       .namespaced = true,
       .columns = {text("Holder", ".spec.holderIdentity"), age()}},
  };
}

Result<std::vector<Resource>> resources_of_crd(const std::string& yaml) {
  const auto document = parse_yaml(yaml);
  if (!document) return document.error();
  const json::Value& crd = *document;
  if (crd["kind"].string_or("") != "CustomResourceDefinition")
    return invalid("kind: expected CustomResourceDefinition");
  const json::Value& spec = crd["spec"];
  const json::Value& names = spec["names"];
  std::vector<Resource> rows;
  for (const auto& version : spec["versions"].items()) {
    Resource row{.group = spec["group"].string_or(""),
                 .version = version["name"].string_or(""),
                 .plural = names["plural"].string_or(""),
                 .singular = names["singular"].string_or(""),
                 .kind = names["kind"].string_or(""),
                 .short_names = strings(names["shortNames"]),
                 .namespaced = spec["scope"].string_or("") == "Namespaced",
                 .has_status = version["subresources"].contains("status"),
                 .has_generation = true,
                 .custom = true,
                 .schema = version["schema"]["openAPIV3Schema"]};
    for (const auto& column : version["additionalPrinterColumns"].items()) {
      const auto path = column["jsonPath"].string_or("");
      row.columns.push_back({.name = column["name"].string_or(""),
                             .type = column["type"].string_or("string"),
                             .path = path,
                             .description = column["description"].string_or(
                                 "Custom resource definition column (in JSONPath format): " + path),
                             .priority = static_cast<int>(column["priority"].int_or(0)),
                             .format = column["format"].string_or("")});
    }
    for (const auto& field : version["selectableFields"].items())
      row.selectable.push_back(field["jsonPath"].string_or(".").substr(1));
    if (row.plural.empty() || row.kind.empty() || !row.schema.is_object())
      return invalid("a version lacks its names or its schema");
    rows.push_back(std::move(row));
  }
  return rows;
}

const json::Value& at_path(const json::Value& object, std::string_view path) {
  static const json::Value kNull;
  const json::Value* at = &object;
  size_t i = 0;
  while (i < path.size()) {
    if (path[i] == '.') {
      ++i;
    } else if (path[i] == '[') {
      const size_t end = std::min(path.find(']', i), path.size());
      const auto index = parse_u64(path.substr(i + 1, end - i - 1));
      if (!index || *index >= at->items().size()) return kNull;
      at = &at->items()[*index];
      i = end + 1;
    } else {
      const size_t end = std::min(path.find_first_of(".[", i), path.size());
      at = &(*at)[path.substr(i, end - i)];
      i = end;
    }
  }
  return *at;
}

}  // namespace nobs::sim
