// What the embedded API serves: one row per resource, for the built-in kinds and for each CRD.
//
// Filled once at start, then read-only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.h"
#include "shared/json/value.h"

namespace nobs::sim {

struct Column {
  std::string name, type, path;  // path: a JSONPath such as .status.workloads[0].workload
  std::string description;
  int priority = 0;
  std::string format;
};

struct Resource {
  std::string group, version, plural, singular, kind;
  std::vector<std::string> short_names;
  bool namespaced = false;
  bool has_status = false;              // a status subresource
  bool has_generation = false;          // counted by spec changes
  bool unconditional_update = false;    // PUT may leave out the resourceVersion
  bool custom = false;                  // from a CRD
  json::Value schema;                   // openAPIV3Schema, null for built-in kinds
  std::vector<Column> columns;          // without Name, which always comes first
  std::vector<std::string> selectable;  // besides metadata.name: "spec.nodeName"
  std::string view_of;  // the storage of another row, whose objects this one shows; read-only

  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  std::string storage() const { return view_of.empty() ? group + "/" + plural : view_of; }
  std::string list_kind() const { return kind + "List"; }
  // As messages name it: "nodes", "leases.coordination.k8s.io"; "Node", "Lease.coordination.k8s.io".
  std::string qualified() const { return group.empty() ? plural : plural + "." + group; }
  // Events are the exception of the real server: they call themselves by the name of the core kind.
  std::string qualified_kind() const {
    return group.empty() || group == "events.k8s.io" ? kind : kind + "." + group;
  }
};

std::vector<Resource> built_in_resources();
// The rows of one CustomResourceDefinition, in YAML: one for each version.
Result<std::vector<Resource>> resources_of_crd(const std::string& yaml);

// YAML (and with it JSON) as a value. Refuses what is deeper than json::kMaxDepth or has more than a million nodes.
Result<json::Value> parse_yaml(const std::string& text);

// The value at a simple JSONPath (".a.b[0].c", the first dot optional), or null.
const json::Value& at_path(const json::Value& object, std::string_view path);

}  // namespace nobs::sim
