#include "tests/sim/api/strategic.h"

#include <algorithm>

namespace nobs::sim {
namespace {

using json::Array;
using json::Value;

constexpr std::string_view kDeleteFrom = "$deleteFromPrimitiveList/";

// The merge key of a list by the list's name (patchMergeKey in k8s.io/api/core/v1); empty: replaced as a whole.
std::string_view merge_key(std::string_view list) {
  if (list == "conditions" || list == "addresses") return "type";
  if (list == "ownerReferences") return "uid";
  if (list == "containers" || list == "initContainers" || list == "volumes" || list == "env")
    return "name";
  return {};
}

Array::iterator find_by(Array& items, std::string_view key, const Value& id) {
  return std::find_if(items.begin(), items.end(),
                      [&](const Value& item) { return item[key] == id; });
}

// As mergeSortedSlice in apimachinery: what only the server has keeps its place relative to what both have, and what is
// new comes first.
Array in_order(const Array& server_order, Array server_only, Array patched, std::string_view key) {
  const auto place = [&](const Value& item) {
    const auto found = std::find_if(server_order.begin(), server_order.end(),
                                    [&](const Value& other) { return other[key] == item[key]; });
    return found == server_order.end() ? -1 : found - server_order.begin();
  };
  Array result;
  auto left = server_only.begin();
  for (auto& item : patched) {
    const auto mine = place(item);
    while (left != server_only.end() && mine >= 0 && place(*left) < mine)
      result.push_back(std::move(*left++));
    result.push_back(std::move(item));
  }
  std::move(left, server_only.end(), std::back_inserter(result));
  return result;
}

bool merge_list(Value& target, const Array& patch, std::string_view key) {
  const Array before = target.items();
  Array rest = before;
  Array patched;
  for (const auto& change : patch) {
    const Value& id = change[key];
    const std::string directive = change["$patch"].string_or("");
    if (directive == "replace") {
      rest.clear();
      continue;
    }
    if (id.is_null()) return false;
    const auto found = find_by(rest, key, id);
    Value item;
    if (found != rest.end()) {
      item = std::move(*found);
      rest.erase(found);
    }
    if (directive == "delete") continue;
    if (!apply_strategic(item, change)) return false;
    patched.push_back(std::move(item));
  }
  target = in_order(before, std::move(rest), std::move(patched), key);
  return true;
}

void remove_from(Value& target, const Array& unwanted) {
  Array kept;
  for (const auto& item : target.items()) {
    if (std::find(unwanted.begin(), unwanted.end(), item) == unwanted.end()) kept.push_back(item);
  }
  target = std::move(kept);
}

void add_missing(Value& target, const Array& wanted) {
  for (const auto& item : wanted) {
    const Array& have = target.items();
    if (std::find(have.begin(), have.end(), item) == have.end()) target.push_back(item);
  }
}

void retain(Value& target, const Array& keys) {
  Value kept = json::Object{};
  for (const auto& [key, value] : target.members()) {
    if (std::find(keys.begin(), keys.end(), Value(key)) != keys.end()) kept[key] = value;
  }
  target = std::move(kept);
}

bool merge_member(Value& target, const std::string& key, const Value& value) {
  if (key[0] == '$') {
    if (key.rfind(kDeleteFrom, 0) == 0)
      remove_from(target[key.substr(kDeleteFrom.size())], value.items());
    return true;
  }
  if (value.is_null()) {
    target.erase(key);
    return true;
  }
  if (value.is_object()) return apply_strategic(target[key], value);
  if (value.is_array() && !merge_key(key).empty())
    return merge_list(target[key], value.items(), merge_key(key));
  if (value.is_array() && key == "finalizers") {
    add_missing(target[key], value.items());
  } else {
    target[key] = value;
  }
  return true;
}

}  // namespace

bool apply_strategic(Value& target, const Value& patch) {
  const std::string directive = patch["$patch"].string_or("");
  if (!target.is_object() || !directive.empty()) target = json::Object{};
  if (directive == "delete") return true;
  if (patch.contains("$retainKeys")) retain(target, patch["$retainKeys"].items());
  const auto& members = patch.members();
  return std::all_of(members.begin(), members.end(), [&](const auto& member) {
    return member.first.empty() || merge_member(target, member.first, member.second);
  });
}

}  // namespace nobs::sim
