#include "tests/sim/api/status.h"

#include "shared/base/strings.h"

namespace nobs::sim {
namespace {

json::Value details(std::string_view name, std::string_view group, std::string_view kind) {
  auto result = json::object({{"kind", kind}});
  if (!name.empty()) result["name"] = name;
  if (!group.empty()) result["group"] = group;
  return result;
}

json::Value with_causes(json::Value result, const std::vector<Cause>& causes) {
  for (const auto& cause : causes) {
    result["causes"].push_back(json::object(
        {{"reason", cause.reason}, {"message", cause.message}, {"field", cause.field}}));
  }
  return result;
}

}  // namespace

std::string quoted(std::string_view text) { return json::dump(json::Value(text)); }

Reply failure(int code, std::string_view reason, std::string message, json::Value details) {
  auto body = json::object({{"kind", "Status"},
                            {"apiVersion", "v1"},
                            {"metadata", json::Object{}},
                            {"status", "Failure"},
                            {"message", std::move(message)},
                            {"code", code}});
  if (!reason.empty()) body["reason"] = reason;
  if (details.is_object()) body["details"] = std::move(details);
  return {code, std::move(body), {}};
}

Reply bad_request(std::string message) { return failure(400, "BadRequest", std::move(message)); }

Reply not_found(const Resource& resource, std::string_view name) {
  return failure(404, "NotFound", resource.qualified() + " " + quoted(name) + " not found",
                 details(name, resource.group, resource.plural));
}

Reply already_exists(const Resource& resource, std::string_view name) {
  return failure(409, "AlreadyExists",
                 resource.qualified() + " " + quoted(name) + " already exists",
                 details(name, resource.group, resource.plural));
}

Reply conflict(const Resource& resource, std::string_view name, std::string_view why) {
  return failure(409, "Conflict",
                 "Operation cannot be fulfilled on " + resource.qualified() + " " + quoted(name) +
                     ": " + std::string(why),
                 details(name, resource.group, resource.plural));
}

Reply modified_meanwhile(const Resource& resource, std::string_view name) {
  return conflict(resource, name,
                  "the object has been modified; please apply your changes to the latest version "
                  "and try again");
}

Reply invalid_object(const Resource& resource, std::string_view name,
                     const std::vector<Cause>& causes) {
  std::vector<std::string> parts;
  parts.reserve(causes.size());
  for (const auto& cause : causes) parts.push_back(cause.field + ": " + cause.message);
  const std::string all = parts.size() == 1 ? parts[0] : "[" + join(parts, ", ") + "]";
  return failure(422, "Invalid",
                 resource.qualified_kind() + " " + quoted(name) + " is invalid: " + all,
                 with_causes(details(name, resource.group, resource.kind), causes));
}

Reply invalid_options(std::string_view kind, const Cause& cause) {
  return failure(
      422, "Invalid",
      std::string(kind) + ".meta.k8s.io \"\" is invalid: " + cause.field + ": " + cause.message,
      with_causes(details("", "meta.k8s.io", kind), {cause}));
}

Reply forbidden_list_option(std::string_view field, std::string_view message) {
  return invalid_options("ListOptions", {"FieldValueForbidden",
                                         "Forbidden: " + std::string(message), std::string(field)});
}

Reply patch_failed() {
  return failure(422, "Invalid", "the server rejected our request due to an error in our request",
                 json::Object{});
}

Reply success(const Resource& resource, std::string_view name, const json::Value& uid) {
  auto about = details(name, resource.group, resource.plural);
  about["uid"] = uid;
  return {200,
          json::object({{"kind", "Status"},
                        {"apiVersion", "v1"},
                        {"metadata", json::Object{}},
                        {"status", "Success"},
                        {"details", std::move(about)}}),
          {}};
}

}  // namespace nobs::sim
