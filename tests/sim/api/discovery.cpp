#include "tests/sim/api/discovery.h"

#include <algorithm>

#include "shared/base/strings.h"

namespace nobs::sim {
namespace {

using json::Value;

std::string root_of(const Resource& resource) {
  return (resource.group.empty() ? "api/" : "apis/") + resource.api_version();
}

Value group(const Resource& resource) {
  const auto version =
      json::object({{"groupVersion", resource.api_version()}, {"version", resource.version}});
  return json::object({{"name", resource.group},
                       {"versions", json::array({version})},
                       {"preferredVersion", version}});
}

Value group_list(const std::vector<Resource>& resources) {
  json::Array groups;
  for (const auto& resource : resources) {
    const bool known = std::any_of(groups.begin(), groups.end(), [&](const Value& other) {
      return other["name"].string_or("") == resource.group;
    });
    if (!resource.group.empty() && !known) groups.push_back(group(resource));
  }
  return json::object(
      {{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(groups)}});
}

Value texts(const std::vector<std::string>& list) { return json::Array(list.begin(), list.end()); }

Value resource_list(const std::vector<Resource>& resources, std::string_view root) {
  auto list = json::object({{"kind", "APIResourceList"}, {"apiVersion", "v1"}});
  for (const auto& resource : resources) {
    if (root_of(resource) != root) continue;
    list["groupVersion"] = resource.api_version();
    auto entry = json::object({{"name", resource.plural},
                               {"singularName", resource.singular},
                               {"namespaced", resource.namespaced},
                               {"kind", resource.kind}});
    auto status = entry;
    if (!resource.short_names.empty()) entry["shortNames"] = texts(resource.short_names);
    entry["verbs"] = resource.view_of.empty() ? texts({"create", "delete", "deletecollection",
                                                       "get", "list", "patch", "update", "watch"})
                                              : texts({"get", "list", "watch"});
    list["resources"].push_back(std::move(entry));
    if (!resource.has_status) continue;
    status["name"] = resource.plural + "/status";
    status["singularName"] = "";
    status["verbs"] = texts({"get", "patch", "update"});
    list["resources"].push_back(std::move(status));
  }
  return list;
}

// Only what kubectl reads: which kind a path serves, that fieldValidation is known, and the schema.
Value openapi(const std::vector<Resource>& resources, std::string_view root) {
  Value paths = json::Object{};
  Value schemas = json::Object{};
  for (const auto& resource : resources) {
    if (root_of(resource) != root) continue;
    const auto type = json::object(
        {{"group", resource.group}, {"version", resource.version}, {"kind", resource.kind}});
    const std::string name = resource.group + "." + resource.version + "." + resource.kind;
    Value schema = resource.schema.is_null() ? json::object({{"type", "object"}}) : resource.schema;
    schema["x-kubernetes-group-version-kind"] = json::array({type});
    schemas[name] = std::move(schema);
    const auto answer = json::object(
        {{"200",
          json::object(
              {{"description", "OK"},
               {"content",
                json::object(
                    {{"application/json",
                      json::object({{"schema", json::object({{"$ref", "#/components/schemas/" +
                                                                          name}})}})}})}})}});
    const auto operation = [&](const char* action) {
      return json::object(
          {{"x-kubernetes-group-version-kind", type},
           {"x-kubernetes-action", action},
           {"responses", answer},
           {"parameters",
            json::array({json::object({{"name", "fieldValidation"},
                                       {"in", "query"},
                                       {"schema", json::object({{"type", "string"}})}})})}});
    };
    const std::string path = "/" + std::string(root) +
                             (resource.namespaced ? "/namespaces/{namespace}/" : "/") +
                             resource.plural + "/{name}";
    paths[path] = json::object({{"get", operation("get")}, {"patch", operation("patch")}});
  }
  return json::object({{"openapi", "3.0.0"},
                       {"info", json::object({{"title", "Kubernetes"}, {"version", "v1.37.2"}})},
                       {"paths", std::move(paths)},
                       {"components", json::object({{"schemas", std::move(schemas)}})}});
}

Value openapi_index(const std::vector<Resource>& resources) {
  Value paths = json::Object{};
  for (const auto& resource : resources) {
    const auto root = root_of(resource);
    paths[root] = json::object({{"serverRelativeURL", "/openapi/v3/" + root + "?hash=1"}});
  }
  return json::object({{"paths", std::move(paths)}});
}

}  // namespace

std::optional<Value> discover(const std::vector<Resource>& resources, std::string_view path,
                              const std::string& address) {
  constexpr std::string_view kOpenApi = "/openapi/v3/";
  const auto serves = [&](std::string_view root) {
    return std::any_of(resources.begin(), resources.end(),
                       [&](const Resource& resource) { return root_of(resource) == root; });
  };
  if (path == "/api")
    return json::object(
        {{"kind", "APIVersions"},
         {"versions", json::array({"v1"})},
         {"serverAddressByClientCIDRs",
          json::array({json::object({{"clientCIDR", "0.0.0.0/0"}, {"serverAddress", address}})})}});
  if (path == "/apis") return group_list(resources);
  if (path == "/version")
    return json::object(
        {{"major", "1"}, {"minor", "37"}, {"gitVersion", "v1.37.2"}, {"platform", "linux/amd64"}});
  if (path == "/openapi/v3") return openapi_index(resources);
  if (path.rfind(kOpenApi, 0) == 0 && serves(path.substr(kOpenApi.size())))
    return openapi(resources, path.substr(kOpenApi.size()));
  if (serves(path.substr(std::min<size_t>(1, path.size()))))
    return resource_list(resources, path.substr(1));
  const auto found = std::find_if(resources.begin(), resources.end(), [&](const Resource& row) {
    return !row.group.empty() && path == "/apis/" + row.group;
  });
  if (found == resources.end()) return std::nullopt;
  auto answer = group(*found);
  answer["kind"] = "APIGroup";
  answer["apiVersion"] = "v1";
  return answer;
}

}  // namespace nobs::sim
