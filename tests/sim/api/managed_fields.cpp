#include "tests/sim/api/managed_fields.h"

#include <map>
#include <vector>

namespace nobs::sim {
namespace {

using json::Value;

// A field's place, as the keys of FieldsV1: {"f:spec", "f:taints"}.
using Path = std::vector<std::string>;
using Fields = std::map<Path, Value>;

// The container itself is a field too, called ".".
void note_container(const Path& path, Fields& out) {
  Path itself = path;
  itself.emplace_back(".");
  out[std::move(itself)] = true;
}

void flatten(const Value& value, Path& path, Fields& out) {
  if (value.is_object() && !value.members().empty()) {
    note_container(path, out);
    for (const auto& [key, member] : value.members()) {
      path.push_back("f:" + key);
      flatten(member, path, out);
      path.pop_back();
    }
  } else if (value.is_array() && path.back() == "f:conditions") {
    note_container(path, out);
    for (const auto& item : value.items()) {
      path.push_back("k:" + json::dump(json::object({{"type", item["type"]}})));
      flatten(item, path, out);
      path.pop_back();
    }
  } else {
    out[path] = value;
  }
}

// Of the metadata only what somebody chose; identity and the server's own members have no manager.
Fields fields_of(const Value& object, bool custom) {
  Value tracked = object;
  for (const auto* key : {"apiVersion", "kind", "metadata"}) tracked.erase(key);
  for (const auto* key : {"labels", "annotations", "finalizers", "ownerReferences"}) {
    if (object["metadata"].contains(key)) tracked["metadata"][key] = object["metadata"][key];
  }
  Fields result;
  Path path;
  for (const auto& [key, member] : tracked.members()) {
    path.assign({"f:" + key});
    flatten(member, path, result);
  }
  // Metadata is nobody's, and neither are a built-in kind's spec and status: they are always there.
  std::erase_if(result, [&](const auto& field) {
    const auto& [place, value] = field;
    const bool is_top =
        place.size() == 1 ? value.is_object() : place.size() == 2 && place[1] == ".";
    return is_top && (place[0] == "f:metadata" || !custom);
  });
  return result;
}

void collect(const Value& tree, Path& path, std::vector<Path>& out) {
  if (tree.members().empty() && !path.empty()) out.push_back(path);
  for (const auto& [key, member] : tree.members()) {
    path.push_back(key);
    collect(member, path, out);
    path.pop_back();
  }
}

Value tree_of(const std::vector<Path>& paths) {
  Value tree = json::Object{};
  for (const auto& path : paths) {
    Value* at = &tree;
    for (const auto& key : path) at = &(*at)[key];
    if (!at->is_object()) *at = json::Object{};
  }
  return tree;
}

}  // namespace

void note_writer(Value& object, const Value& old, bool custom, const Writer& writer) {
  const Value& known = old["metadata"]["managedFields"];
  if (!old.is_null() && known.items().empty() && writer.operation != "Apply") {
    object["metadata"].erase("managedFields");
    return;
  }
  const Fields before = fields_of(old, custom);
  const Fields after = fields_of(object, custom);
  const auto same = [&](const Path& path) {
    const auto was = before.find(path);
    const auto is = after.find(path);
    return was != before.end() && is != after.end() && was->second == is->second;
  };
  std::vector<Path> mine;
  for (const auto& [path, value] : after) {
    // A new object's status is what the server filled in, or was not asked for.
    const bool is_initial_status = old.is_null() && path[0] == "f:status";
    if (!same(path) && !is_initial_status) mine.push_back(path);
  }
  json::Array entries;
  for (const auto& entry : known.items()) {
    std::vector<Path> all;
    Path path;
    collect(entry["fieldsV1"], path, all);
    std::vector<Path> kept;
    for (auto& field : all) {
      if (same(field)) kept.push_back(std::move(field));
    }
    const bool is_mine = entry["manager"].string_or("") == writer.manager &&
                         entry["operation"].string_or("") == writer.operation &&
                         entry["subresource"].string_or("") == writer.subresource;
    if (is_mine && !mine.empty()) {
      mine.insert(mine.end(), kept.begin(), kept.end());
    } else if (!kept.empty()) {
      Value rest = entry;
      rest["fieldsV1"] = tree_of(kept);
      entries.push_back(std::move(rest));
    }
  }
  if (!mine.empty()) {
    auto entry = json::object({{"apiVersion", object["apiVersion"]},
                               {"fieldsType", "FieldsV1"},
                               {"fieldsV1", tree_of(mine)},
                               {"manager", writer.manager},
                               {"operation", writer.operation},
                               {"time", writer.time}});
    if (!writer.subresource.empty()) entry["subresource"] = writer.subresource;
    entries.push_back(std::move(entry));
  }
  if (entries.empty()) {
    object["metadata"].erase("managedFields");
  } else {
    object["metadata"]["managedFields"] = std::move(entries);
  }
}

}  // namespace nobs::sim
