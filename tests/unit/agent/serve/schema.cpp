#include "tests/unit/agent/serve/schema.h"

#include <algorithm>

#include "shared/base/rfc3339.h"
#include "shared/base/strings.h"

namespace nobs::serve::test {
namespace {

using json::Value;

const Value& resolve(const Value& schema, const Value& document) {
  const auto* reference = schema["$ref"].if_string();
  if (reference == nullptr) return schema;
  const Value* at = &document;
  for (const auto step : split(std::string_view(*reference).substr(2), '/')) at = &(*at)[step];
  return *at;
}

bool is_of_type(const Value& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_bool();
  if (type == "integer") return value.if_int().has_value();
  if (type == "number") return value.is_number();
  return false;
}

void append(std::vector<std::string>& all, const std::vector<std::string>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

std::vector<std::string> violations(const Value& value, const Value& schema_or_ref,
                                    const Value& document, const std::string& place) {
  const Value& schema = resolve(schema_or_ref, document);
  if (!schema.is_object()) return {place + ": its schema is not there"};
  if (!is_of_type(value, schema["type"].string_or("")))
    return {place + ": is not of type " + schema["type"].string_or("")};
  std::vector<std::string> found;
  const auto& accepted = schema["enum"].items();
  if (!accepted.empty() && std::find(accepted.begin(), accepted.end(), value) == accepted.end())
    found.push_back(place + ": " + json::dump(value) + " is not one of " +
                    json::dump(schema["enum"]));
  if (schema["format"].string_or("") == "date-time" && !parse_rfc3339(value.string_or("")))
    found.push_back(place + ": is not a time");
  if (const auto least = schema["minimum"].if_double(); least && *value.if_double() < *least)
    found.push_back(place + ": is too small");
  for (size_t i = 0; i < value.items().size(); ++i)
    append(found, violations(value.items()[i], schema["items"], document,
                             place + "[" + std::to_string(i) + "]"));
  for (const auto& name : schema["required"].items())
    if (!value.contains(*name.if_string()))
      found.push_back(place + ": has no " + *name.if_string());
  if (!schema.contains("properties") && !schema.contains("additionalProperties")) return found;
  for (const auto& [name, member] : value.members()) {
    const auto& known = schema["properties"][name];
    const auto& others = schema["additionalProperties"];
    if (!known.is_null()) {
      append(found, violations(member, known, document, place + "." + name));
    } else if (others.is_object()) {
      append(found, violations(member, others, document, place + "." + name));
    } else {
      found.push_back(place + ": " + name + " is not described");
    }
  }
  return found;
}

}  // namespace nobs::serve::test
