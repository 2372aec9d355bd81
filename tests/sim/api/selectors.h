// Label and field selectors: parsed once for each request, then asked for every object.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tests/sim/api/status.h"

namespace nobs::sim {

using Texts = std::map<std::string, std::string>;

struct Requirement {
  enum class Is { Present, Absent, In, NotIn };  // NotIn holds for an absent label too
  std::string key;
  Is is = Is::In;
  std::vector<std::string> values;
};

struct Selector {
  std::vector<Requirement> labels, fields;

  bool empty() const { return labels.empty() && fields.empty(); }
  bool matches(const Texts& object_labels, const Texts& object_fields) const;
};

// The refusal is the 400 of the real server: an unknown field, or text that is no selector.
std::variant<Selector, Reply> parse_selector(const Resource& resource, std::string_view labels,
                                             std::string_view fields);

// The fields of an object that selectors may name; absent ones are "".
Texts selectable_fields(const Resource& resource, const json::Value& object);
Texts labels_of(const json::Value& object);

}  // namespace nobs::sim
