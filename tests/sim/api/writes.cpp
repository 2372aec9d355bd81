#include "tests/sim/api/writes.h"

#include <random>

#include "shared/base/clock.h"
#include "shared/base/rfc3339.h"
#include "shared/base/strings.h"
#include "tests/sim/api/built_in.h"
#include "tests/sim/api/json_patch.h"
#include "tests/sim/api/managed_fields.h"
#include "tests/sim/api/schema.h"
#include "tests/sim/api/strategic.h"

namespace nobs::sim {
namespace {

using json::Value;
using What = Decision::What;

constexpr std::string_view kApply = "application/apply-patch+yaml";

std::uint64_t random_bits() {
  thread_local std::mt19937_64 engine{std::random_device{}()};
  return engine();
}

std::string new_uid() {
  const std::string a = hex16(random_bits());
  const std::string b = hex16(random_bits());
  return a.substr(0, 8) + "-" + a.substr(8, 4) + "-4" + a.substr(13, 3) + "-a" + b.substr(1, 3) +
         "-" + b.substr(4);
}

std::string name_suffix() {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::string result;
  for (int i = 0; i < 5; ++i) result += kAlphabet[random_bits() % kAlphabet.size()];
  return result;
}

std::string time_now() { return format_seconds(SystemClock{}.now()); }

Decision refuse(Reply reply) { return {What::Nothing, std::move(reply)}; }
Decision keep(Value object) { return {What::Nothing, {200, std::move(object), {}}}; }

Decision finish(const WriteRequest& request, What what, Reply reply) {
  return {request.dry_run ? What::Nothing : what, std::move(reply)};
}

std::variant<Value, Reply> parse_body(const WriteRequest& request) {
  auto body = json::parse(request.body);
  if (body && body->is_object()) return std::move(*body);
  return bad_request("the object provided is unrecognized (must be of type " +
                     request.resource.kind + "): couldn't get version/kind; json parse error: " +
                     (body ? "not an object" : body.error().message) + " (" +
                     utf8(request.body, 64) + ")");
}

Refusal check_type(const Resource& resource, const Value& object) {
  const auto name = object["metadata"]["name"].string_or("");
  const auto kind = object["kind"].string_or("");
  const auto version = object["apiVersion"].string_or("");
  if (kind.empty()) return bad_request("Object 'Kind' is missing in '" + json::dump(object) + "'");
  if (version != resource.api_version())
    return bad_request("the API version in the data (" + version +
                       ") does not match the expected API version (" + resource.api_version() +
                       ")");
  if (kind == resource.kind) return std::nullopt;
  if (!resource.custom)
    return bad_request(kind + " in version " + quoted(resource.version) +
                       " cannot be handled as a " + resource.kind);
  Resource wrong = resource;
  wrong.kind = kind;
  return invalid_object(
      wrong, name,
      {{"FieldValueInvalid", "Invalid value: " + quoted(kind) + ": must be " + resource.kind,
        "kind"}});
}

// A patch that makes something that is no object of the kind.
Reply bad_patch(const Value& object, const std::string& why) {
  return failure(
      422, "Invalid",
      " \"\" is invalid: patch: Invalid value: " + quoted(json::dump(object)) + ": " + why,
      json::object({{"causes", json::array({json::object({{"reason", "FieldValueInvalid"},
                                                          {"message", "Invalid value: " + why},
                                                          {"field", "patch"}})})}}));
}

// Makes the object what would be stored, or says why not. `old`: null at creation.
Refusal prepare(const WriteRequest& request, Value& object, const Value& old,
                std::vector<std::string>& warnings, bool is_patch) {
  const Resource& resource = request.resource;
  const auto cannot = [&](const std::string& why) {
    return is_patch ? bad_patch(object, why)
                    : bad_request(resource.kind + " in version " + quoted(resource.version) +
                                  " cannot be handled as a " + resource.kind + ": " + why);
  };
  if (auto why = misfit(resource, object); !why.empty()) return cannot(why);
  if (resource.custom) {
    const auto unknown = prune(object, resource.schema);
    std::vector<std::string> texts;
    texts.reserve(unknown.size());
    for (const auto& path : unknown) texts.push_back("unknown field " + quoted(path));
    if (!texts.empty() && request.field_validation == "Strict")
      return cannot("strict decoding error: " + join(texts, ", "));
    if (request.field_validation == "Warn") warnings = texts;
    apply_defaults(object, resource.schema);
  }
  normalize(resource, object);
  const auto causes = resource.custom ? mistakes(object, old, resource.schema)
                                      : built_in_mistakes(resource, object);
  if (!causes.empty())
    return invalid_object(resource, object["metadata"]["name"].string_or(""), causes);
  return std::nullopt;
}

Refusal check_new_name(const WriteRequest& request, Value& object) {
  Value& metadata = object["metadata"];
  const auto prefix = metadata["generateName"].string_or("");
  if (metadata["name"].string_or("").empty() && !prefix.empty())
    metadata["name"] = prefix + name_suffix();
  if (metadata["name"].string_or("").empty())
    return invalid_object(request.resource, "",
                          {{"FieldValueRequired",
                            "Required value: name or generateName is required", "metadata.name"}});
  if (request.resource.namespaced) {
    const auto sent = metadata["namespace"].string_or(request.ns);
    if (sent != request.ns)
      return bad_request(
          "the namespace of the provided object does not match the namespace sent "
          "on the request");
    metadata["namespace"] = request.ns;
  }
  return std::nullopt;
}

Reply create_object(Store& store, const WriteRequest& request, Value object,
                    const std::string& operation) {
  const Resource& resource = request.resource;
  if (auto refusal = check_type(resource, object); refusal) return std::move(*refusal);
  if (auto refusal = check_new_name(request, object); refusal) return std::move(*refusal);
  if (!std::as_const(object)["metadata"]["resourceVersion"].string_or("").empty())
    return failure(500, "", "resourceVersion should not be set on objects to be created");
  if (resource.custom && resource.has_status) object.erase("status");
  set_initial_status(resource, object);
  std::vector<std::string> warnings;
  if (auto refusal = prepare(request, object, nullptr, warnings, false); refusal)
    return std::move(*refusal);

  const std::string name = std::as_const(object)["metadata"]["name"].string_or("");
  Value& metadata = object["metadata"];
  const std::string now = time_now();
  metadata["uid"] = new_uid();
  metadata["creationTimestamp"] = now;
  if (resource.has_generation) metadata["generation"] = 1;
  for (const auto* key : {"managedFields", "deletionTimestamp", "selfLink"}) metadata.erase(key);
  note_writer(object, nullptr, resource.custom, {request.manager, operation, "", now});
  const std::string key = request.ns.empty() ? name : request.ns + "/" + name;
  auto reply = store.write(resource, key, [&](const Value& old) {
    if (!old.is_null()) return refuse(already_exists(resource, name));
    return finish(request, What::Put, {201, std::move(object), {}});
  });
  reply.warnings = std::move(warnings);
  return reply;
}

// What of `wanted` this request may change: all but the status, or the status alone.
Value permitted(const WriteRequest& request, const Value& wanted, const Value& old) {
  const Resource& resource = request.resource;
  const bool status_only = request.subresource == "status";
  Value result = status_only ? old : wanted;
  if (resource.has_status) {
    const Value& status = (status_only ? wanted : old)["status"];
    if (status.is_null()) {
      result.erase("status");
    } else {
      result["status"] = status;
    }
  }
  if (status_only && !resource.custom) {  // built-in kinds take these along
    for (const auto* key : {"labels", "annotations"})
      result["metadata"][key] = wanted["metadata"][key];
  }
  result["apiVersion"] = old["apiVersion"];
  result["kind"] = old["kind"];
  for (const auto* key :
       {"name", "namespace", "generateName", "uid", "creationTimestamp", "generation",
        "resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"}) {
    if (old["metadata"].contains(key)) {
      result["metadata"][key] = old["metadata"][key];
    } else {
      result["metadata"].erase(key);
    }
  }
  return result;
}

// `managedFields: [{}]` empties them; [] and null do nothing.
bool resets_managers(const WriteRequest& request, const Value& wanted) {
  const auto& entries = wanted["metadata"]["managedFields"].items();
  return request.subresource.empty() && entries.size() == 1 && entries[0] == Value(json::Object{});
}

bool same_but_for_metadata(Value a, Value b) {
  for (const auto* key : {"metadata", "status"}) {
    a.erase(key);
    b.erase(key);
  }
  return a == b;
}

Refusal check_identity(const WriteRequest& request, const Value& wanted, const Value& old) {
  const Resource& resource = request.resource;
  const Value& metadata = wanted["metadata"];
  const auto uid = metadata["uid"].string_or("");
  const auto real_uid = old["metadata"]["uid"].string_or("");
  if (!uid.empty() && uid != real_uid)
    return conflict(
        resource, request.name,
        "StorageError: invalid object, Code: 4, Key: /registry/" +
            (resource.group.empty() ? resource.plural : resource.group + "/" + resource.plural) +
            "/" + request.key() +
            ", ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in "
            "precondition: " +
            uid + ", UID in object meta: " + real_uid);
  const auto version = metadata["resourceVersion"].string_or("");
  if (version.empty() && !resource.unconditional_update) {
    // Named by the resource here, not by the kind.
    Resource named = resource;
    named.kind = resource.plural;
    return invalid_object(
        named, request.name,
        {{"FieldValueInvalid", "Invalid value: 0: must be specified for an update",
          "metadata.resourceVersion"}});
  }
  if (!version.empty() && version != old["metadata"]["resourceVersion"].string_or(""))
    return modified_meanwhile(resource, request.name);
  return std::nullopt;
}

// The object becomes `wanted`, as far as the request may change it.
Decision change_to(const WriteRequest& request, const Value& wanted, const Value& old,
                   const std::string& operation) {
  const Resource& resource = request.resource;
  const bool is_patch = !request.content_type.empty();
  if (auto refusal = check_identity(request, wanted, old); refusal)
    return refuse(std::move(*refusal));
  Value object = permitted(request, wanted, old);
  std::vector<std::string> warnings;
  if (auto refusal = prepare(request, object, old, warnings, is_patch); refusal)
    return refuse(std::move(*refusal));
  const bool reset = resets_managers(request, wanted) && old["metadata"].contains("managedFields");
  Value& metadata = object["metadata"];
  if (resource.has_generation && !same_but_for_metadata(object, old))
    metadata["generation"] = old["metadata"]["generation"].int_or(0) + 1;
  if (reset) {
    metadata.erase("managedFields");
  } else {
    note_writer(object, old, resource.custom,
                {request.manager, operation, request.subresource, time_now()});
  }
  if (object == old) return {What::Nothing, {200, std::move(object), std::move(warnings)}};
  const bool is_last_finalizer =
      metadata.contains("deletionTimestamp") && !metadata.contains("finalizers");
  return finish(request, is_last_finalizer ? What::Remove : What::Put,
                {200, std::move(object), std::move(warnings)});
}

Refusal unsupported_patch(const WriteRequest& request) {
  const auto& type = request.content_type;
  const bool strategic = type == "application/strategic-merge-patch+json";
  if (type == "application/json-patch+json" || type == "application/merge-patch+json" ||
      type == kApply || (strategic && !request.resource.custom))
    return std::nullopt;
  std::string accepted = "application/json-patch+json, application/merge-patch+json";
  accepted += request.resource.custom ? "" : ", application/strategic-merge-patch+json";
  return failure(
      415, "UnsupportedMediaType",
      "the body of the request was in an unknown format - accepted media types include: " +
          accepted + ", application/apply-patch+yaml");
}

// Changes `object` as the patch says.
Refusal apply_patch(const WriteRequest& request, const Value& patch, Value& object) {
  const auto& type = request.content_type;
  if (type == "application/json-patch+json") {
    if (!patch.is_array())
      return bad_request(
          "error decoding patch: json: cannot unmarshal object into Go value of "
          "type []handlers.jsonPatchOp");
    return apply_json_patch(object, patch) ? Refusal() : patch_failed();
  }
  if (!patch.is_object()) return bad_request("error decoding patch: the patch is no JSON object");
  const bool strategic = type != "application/merge-patch+json" && !request.resource.custom;
  if (!strategic) {
    json::merge(object, patch);
    return std::nullopt;
  }
  return apply_strategic(object, patch) ? Refusal()
                                        : failure(500, "", "map does not contain its merge key");
}

// A pod on a node stays until its kubelet has ended it, or somebody deletes it with no grace.
std::int64_t grace_seconds(const Resource& resource, const Value& object, const Value& options) {
  const auto phase = object["status"]["phase"].string_or("");
  const bool runs = resource.kind == "Pod" && object["spec"].contains("nodeName") &&
                    phase != "Succeeded" && phase != "Failed";
  const auto usual = object["spec"]["terminationGracePeriodSeconds"].int_or(30);
  return runs ? options["gracePeriodSeconds"].int_or(usual) : 0;
}

}  // namespace

Reply create(Store& store, const WriteRequest& request) {
  auto body = parse_body(request);
  if (auto* refusal = std::get_if<Reply>(&body)) return std::move(*refusal);
  return create_object(store, request, std::get<Value>(std::move(body)), "Update");
}

Reply update(Store& store, const WriteRequest& request) {
  auto body = parse_body(request);
  if (auto* refusal = std::get_if<Reply>(&body)) return std::move(*refusal);
  const Value& wanted = std::get<Value>(body);
  if (auto refusal = check_type(request.resource, wanted); refusal) return std::move(*refusal);
  const auto name = wanted["metadata"]["name"].string_or("");
  if (name != request.name)
    return bad_request("the name of the object (" + name +
                       ") does not match the name on the URL (" + request.name + ")");
  return store.write(request.resource, request.key(), [&](const Value& old) {
    if (old.is_null()) return refuse(not_found(request.resource, request.name));
    return change_to(request, wanted, old, "Update");
  });
}

Reply patch(Store& store, const WriteRequest& request) {
  if (auto refusal = unsupported_patch(request); refusal) return std::move(*refusal);
  const bool is_apply = request.content_type == kApply;
  const auto body = is_apply ? parse_yaml(request.body) : json::parse(request.body);
  if (!body) return bad_request("error decoding patch: " + body.error().message);
  if (is_apply && request.manager.empty())
    return invalid_options(
        "PatchOptions",
        {"FieldValueRequired", "Required value: is required for apply patch", "fieldManager"});
  bool absent = false;
  auto reply = store.write(request.resource, request.key(), [&](const Value& old) {
    absent = old.is_null();
    if (absent) return refuse(not_found(request.resource, request.name));
    Value wanted = old;
    if (auto refusal = apply_patch(request, *body, wanted); refusal)
      return refuse(std::move(*refusal));
    return change_to(request, wanted, old, is_apply ? "Apply" : "Update");
  });
  if (!absent || !is_apply || !request.subresource.empty()) return reply;
  Value object = *body;
  object["metadata"]["name"] = request.name;
  return create_object(store, request, std::move(object), "Apply");
}

Reply remove(Store& store, const WriteRequest& request) {
  const Resource& resource = request.resource;
  const auto parsed = request.body.empty() ? Value(json::Object{}) : json::parse(request.body);
  const Value options = parsed ? *parsed : Value();
  return store.write(resource, request.key(), [&](const Value& old) {
    if (old.is_null()) return refuse(not_found(resource, request.name));
    const Value& metadata = old["metadata"];
    const Value& wanted = options["preconditions"];
    if (wanted.contains("uid") && wanted["uid"] != metadata["uid"]) {
      Resource named = resource;  // by the kind here
      named.plural = resource.kind;
      return refuse(conflict(named, request.name,
                             "the UID in the precondition (" + wanted["uid"].string_or("") +
                                 ") does not match the UID in record (" +
                                 metadata["uid"].string_or("") +
                                 "). The object might have been deleted and then recreated"));
    }
    if (wanted.contains("resourceVersion") &&
        wanted["resourceVersion"] != metadata["resourceVersion"])
      return refuse(modified_meanwhile(resource, request.name));
    const auto grace = grace_seconds(resource, old, options);
    if (metadata.contains("deletionTimestamp") && (metadata.contains("finalizers") || grace > 0))
      return keep(old);
    if (metadata.contains("finalizers") || grace > 0) {
      Value object = old;
      object["metadata"]["deletionTimestamp"] =
          format_seconds(SystemClock{}.now() + std::chrono::seconds(grace));
      object["metadata"]["deletionGracePeriodSeconds"] = grace;
      if (resource.has_generation)
        object["metadata"]["generation"] = metadata["generation"].int_or(0) + 1;
      return finish(request, What::Put, {200, std::move(object), {}});
    }
    const bool shows_object = resource.kind == "Pod" || resource.kind == "Namespace";
    return finish(
        request, What::Remove,
        shows_object ? Reply{200, old, {}} : success(resource, request.name, metadata["uid"]));
  });
}

Reply put_directly(Store& store, const Resource& resource, Value object) {
  object["apiVersion"] = resource.api_version();
  object["kind"] = resource.kind;
  normalize(resource, object);
  const auto& metadata = std::as_const(object)["metadata"];
  const auto name = metadata["name"].string_or("");
  const std::string key =
      resource.namespaced ? metadata["namespace"].string_or("default") + "/" + name : name;
  return store.write(resource, key, [&](const Value& old) {
    Value& fresh = object["metadata"];
    const Value& known = old["metadata"];
    for (const auto* field : {"uid", "creationTimestamp"})
      if (!fresh.contains(field) && known.contains(field)) fresh[field] = known[field];
    if (!fresh.contains("uid")) fresh["uid"] = new_uid();
    if (!fresh.contains("creationTimestamp")) fresh["creationTimestamp"] = time_now();
    if (resource.namespaced && !fresh.contains("namespace")) fresh["namespace"] = "default";
    if (resource.has_generation && !fresh.contains("generation")) {
      const bool spec_changed = !old.is_null() && !same_but_for_metadata(object, old);
      fresh["generation"] = known["generation"].int_or(1) + (spec_changed ? 1 : 0);
    }
    return Decision{What::Put, {200, std::move(object), {}}};
  });
}

}  // namespace nobs::sim
