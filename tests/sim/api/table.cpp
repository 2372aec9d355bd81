#include "tests/sim/api/table.h"

#include "shared/base/rfc3339.h"
#include "shared/base/strings.h"

namespace nobs::sim {
namespace {

using json::Value;

std::string node_status(const Value& node) {
  std::string status = "Unknown";
  for (const auto& condition : node["status"]["conditions"].items()) {
    if (condition["type"].string_or("") == "Ready")
      status = condition["status"].string_or("") == "True" ? "Ready" : "NotReady";
  }
  return node["spec"]["unschedulable"].bool_or(false) ? status + ",SchedulingDisabled" : status;
}

std::string node_roles(const Value& node) {
  constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
  std::vector<std::string> roles;
  for (const auto& [label, value] : node["metadata"]["labels"].members()) {
    if (label.rfind(kPrefix, 0) == 0) roles.push_back(label.substr(kPrefix.size()));
  }
  return roles.empty() ? "<none>" : join(roles, ",");
}

std::string pod_ready(const Value& pod) {
  int ready = 0;
  for (const auto& container : pod["status"]["containerStatuses"].items())
    ready += container["ready"].bool_or(false) ? 1 : 0;
  return std::to_string(ready) + "/" + std::to_string(pod["spec"]["containers"].items().size());
}

std::string event_object(const Value& event) {
  const Value& subject = event.contains("regarding") ? event["regarding"] : event["involvedObject"];
  return lower(subject["kind"].string_or("")) + "/" + subject["name"].string_or("");
}

Value cell(const Column& column, const Value& object, WallTime now) {
  if (column.path == "@node-status") return node_status(object);
  if (column.path == "@node-roles") return node_roles(object);
  if (column.path == "@pod-ready") return pod_ready(object);
  if (column.path == "@event-object") return event_object(object);
  const Value& value = at_path(object, column.path);
  if (column.type != "date" || !value.is_string()) return value;
  const auto time = parse_rfc3339(value.string_or(""));
  if (!time) return "<invalid>";
  return human_duration(std::chrono::duration_cast<std::chrono::seconds>(now - *time));
}

Value column_definition(const Column& column) {
  return json::object({{"name", column.name},
                       {"type", column.type},
                       {"format", column.format},
                       {"description", column.description},
                       {"priority", column.priority}});
}

}  // namespace

std::string human_duration(std::chrono::seconds age) {
  const std::int64_t s = age.count();
  if (s < -1) return "<invalid>";
  const auto two = [](std::int64_t a, const char* x, std::int64_t b, const char* y) {
    return std::to_string(a) + x + (b > 0 ? std::to_string(b) + y : "");
  };
  if (s < 120) return std::to_string(std::max<std::int64_t>(s, 0)) + "s";
  const std::int64_t m = s / 60;
  if (m < 10) return two(m, "m", s % 60, "s");
  if (m < 180) return std::to_string(m) + "m";
  const std::int64_t h = m / 60;
  if (h < 8) return two(h, "h", m % 60, "m");
  if (h < 48) return std::to_string(h) + "h";
  const std::int64_t d = h / 24;
  if (d < 8) return two(d, "d", h % 24, "h");
  if (d < 730) return std::to_string(d) + "d";
  return d < 2920 ? two(d / 365, "y", d % 365, "d") : std::to_string(d / 365) + "y";
}

Value empty_table(const Resource& resource, bool with_columns) {
  auto table = json::object({{"kind", "Table"},
                             {"apiVersion", "meta.k8s.io/v1"},
                             {"metadata", json::Object{}},
                             {"columnDefinitions", nullptr},
                             {"rows", json::Array{}}});
  if (!with_columns) return table;
  table["columnDefinitions"].push_back(
      column_definition({.name = "Name",
                         .type = "string",
                         .description = "Name must be unique within a namespace.",
                         .format = "name"}));
  for (const auto& column : resource.columns)
    table["columnDefinitions"].push_back(column_definition(column));
  return table;
}

Value table_row(const Resource& resource, const Value& object, bool with_object, WallTime now) {
  json::Array cells{object["metadata"]["name"]};
  for (const auto& column : resource.columns) cells.push_back(cell(column, object, now));
  Value shown;
  if (with_object)
    shown = json::object({{"kind", "PartialObjectMetadata"},
                          {"apiVersion", "meta.k8s.io/v1"},
                          {"metadata", object["metadata"]}});
  return json::object({{"cells", std::move(cells)}, {"object", std::move(shown)}});
}

}  // namespace nobs::sim
