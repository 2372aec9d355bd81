#include "tests/sim/api/schema.h"

#include <algorithm>
#include <optional>
#include <regex>

#include "shared/base/rfc3339.h"
#include "shared/base/strings.h"

namespace nobs::sim {
namespace {

using json::Array;
using json::Value;

std::string below(const std::string& path, const std::string& member) {
  return path.empty() ? member : path + "." + member;
}

const Value& schema_of(const Value& schema, const std::string& member) {
  const Value& known = schema["properties"][member];
  return known.is_null() && schema["additionalProperties"].is_object()
             ? schema["additionalProperties"]
             : known;
}

bool keeps_unknown(const Value& schema) {
  return schema["x-kubernetes-preserve-unknown-fields"].bool_or(false) ||
         schema["additionalProperties"].bool_or(false);
}

void prune_at(Value& value, const Value& schema, const std::string& path,
              std::vector<std::string>& unknown) {
  if (const auto* items = value.if_array()) {
    Array pruned = *items;
    for (size_t i = 0; i < pruned.size(); ++i)
      prune_at(pruned[i], schema["items"], path + "[" + std::to_string(i) + "]", unknown);
    value = std::move(pruned);
    return;
  }
  const json::Object members = value.members();  // a copy, because `value` changes
  for (const auto& [key, member] : members) {
    const bool standard =
        path.empty() && (key == "metadata" || key == "apiVersion" || key == "kind");
    if (standard) continue;
    const Value& rule = schema_of(schema, key);
    if (rule.is_null()) {
      if (keeps_unknown(schema)) continue;
      unknown.push_back(below(path, key));
      value.erase(key);
    } else if (member.is_null() && !rule["nullable"].bool_or(false)) {
      value.erase(key);
    } else {
      prune_at(value[key], rule, below(path, key), unknown);
    }
  }
}

std::string type_of(const Value& value) {
  if (value.is_null()) return "null";
  if (value.is_bool()) return "boolean";
  if (value.is_string()) return "string";
  if (value.is_array()) return "array";
  if (value.is_object()) return "object";
  return value.if_int() ? "integer" : "number";
}

bool has_type(const Value& value, const Value& schema) {
  const std::string actual = type_of(value);
  if (actual == "null") return schema["nullable"].bool_or(false);
  if (schema["x-kubernetes-int-or-string"].bool_or(false))
    return actual == "integer" || actual == "string";
  const std::string wanted = schema["type"].string_or("");
  return wanted.empty() || wanted == actual || (wanted == "number" && actual == "integer");
}

// Characters, as the real server counts them although its message says bytes.
std::int64_t length_of(const std::string& text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

bool matches_pattern(const std::string& text, const std::string& pattern) {
  thread_local std::map<std::string, std::regex> compiled;  // compiling costs more than matching
  try {
    auto found = compiled.find(pattern);
    if (found == compiled.end()) found = compiled.emplace(pattern, std::regex(pattern)).first;
    return std::regex_search(text, found->second);
  } catch (const std::regex_error&) {
    return true;
  }
}

struct Checker {
  std::vector<Cause> causes;

  void say(std::string reason, std::string message, const std::string& field) {
    causes.push_back({std::move(reason), std::move(message), field});
  }
  void bad(const Value& value, const std::string& path, const std::string& rule) {
    say("FieldValueInvalid",
        "Invalid value: " + json::dump(value) + ": " + path + " in body " + rule, path);
  }

  void check_text(const std::string& text, const Value& schema, const std::string& path) {
    const auto length = length_of(text);
    const auto longest = schema["maxLength"].if_int();
    if (longest && length > *longest) {
      say("FieldValueTooLong",
          "Too long: may not be more than " + std::to_string(*longest) + " bytes", path);
      return;  // matching very long text would exhaust the stack of std::regex
    }
    const auto shortest = schema["minLength"].int_or(0);
    if (length < shortest)
      bad(text, path, "should be at least " + std::to_string(shortest) + " chars long");
    const auto pattern = schema["pattern"].string_or("");
    if (!pattern.empty() && !matches_pattern(text, pattern))
      bad(text, path, "should match '" + pattern + "'");
    if (schema["format"].string_or("") == "date-time" && !parse_rfc3339(text)) {
      say("FieldValueTypeInvalid",
          "Invalid value: " + quoted(text) + ": " + path +
              " in body must be of type date-time: " + quoted(text),
          path);
    }
  }

  void check_number(const Value& value, const Value& schema, const std::string& path) {
    const auto lowest = schema["minimum"].if_double();
    const auto highest = schema["maximum"].if_double();
    if (lowest && value.if_double() < lowest)
      bad(value, path, "should be greater than or equal to " + json::dump(schema["minimum"]));
    if (highest && value.if_double() > highest)
      bad(value, path, "should be less than or equal to " + json::dump(schema["maximum"]));
  }

  void check_enum(const Value& value, const Value& schema, const std::string& path) {
    const Array& allowed = schema["enum"].items();
    if (allowed.empty() || std::find(allowed.begin(), allowed.end(), value) != allowed.end())
      return;
    std::vector<std::string> names;
    for (const auto& item : allowed) names.push_back(json::dump(item));
    say("FieldValueNotSupported",
        "Unsupported value: " + json::dump(value) + ": supported values: " + join(names, ", "),
        path);
  }

  void check_duplicates(const Array& items, const Value& schema, const std::string& path) {
    const auto kind = schema["x-kubernetes-list-type"].string_or("");
    if (kind != "set" && kind != "map") return;
    Array seen;
    for (size_t i = 0; i < items.size(); ++i) {
      Value id = items[i];
      if (kind == "map") {
        id = json::Object{};
        for (const auto& key : schema["x-kubernetes-list-map-keys"].items())
          id[key.string_or("")] = std::as_const(items[i])[key.string_or("")];
      }
      if (std::find(seen.begin(), seen.end(), id) != seen.end())
        say("FieldValueDuplicate", "Duplicate value: " + json::dump(id),
            path + "[" + std::to_string(i) + "]");
      seen.push_back(std::move(id));
    }
  }

  void check_size(size_t size, const Value& limit, const std::string& path) {
    const auto most = limit.if_int();
    if (most && static_cast<std::int64_t>(size) > *most)
      say("FieldValueTooMany",
          "Too many: " + std::to_string(size) + ": must have at most " + std::to_string(*most) +
              " items",
          path);
  }

  void check(const Value& value, const Value& schema, const std::string& path) {
    if (!has_type(value, schema)) {
      const std::string actual = type_of(value);
      say("FieldValueTypeInvalid",
          "Invalid value: " + quoted(actual) + ": " + path + " in body must be of type " +
              schema["type"].string_or("integer or string") + ": " + quoted(actual),
          path);
      return;
    }
    if (const auto* text = value.if_string()) check_text(*text, schema, path);
    if (value.is_number()) check_number(value, schema, path);
    if (!value.is_null()) check_enum(value, schema, path);
    if (const auto* items = value.if_array()) {
      check_size(items->size(), schema["maxItems"], path);
      if (static_cast<std::int64_t>(items->size()) < schema["minItems"].int_or(0))
        bad(static_cast<std::int64_t>(items->size()), path,
            "should have at least " + json::dump(schema["minItems"]) + " items");
      for (size_t i = 0; i < items->size(); ++i)
        check((*items)[i], schema["items"], path + "[" + std::to_string(i) + "]");
      check_duplicates(*items, schema, path);
    }
    if (value.is_object()) check_members(value, schema, path);
  }

  void check_members(const Value& value, const Value& schema, const std::string& path) {
    check_size(value.members().size(), schema["maxProperties"], path);
    for (const auto& name : schema["required"].items()) {
      const std::string key = name.string_or("");
      if (!value.contains(key)) say("FieldValueRequired", "Required value", below(path, key));
    }
    for (const auto& [key, member] : value.members()) {
      const Value& rule = schema_of(schema, key);
      if (rule.is_object() && !(path.empty() && key == "metadata"))
        check(member, rule, below(path, key));
    }
  }
};

// ---- transition rules

// "self", "self.a.b", "oldSelf.a", "'text'"; nothing: something else.
std::optional<Value> operand(std::string_view text, const Value& self, const Value& old) {
  if (text.size() >= 2 && text.front() == '\'' && text.back() == '\'')
    return Value(text.substr(1, text.size() - 2));
  const size_t dot = std::min(text.find('.'), text.size());
  const auto root = text.substr(0, dot);
  const auto path = text.substr(dot);
  if (path.find_first_of(" ()[]!") != std::string_view::npos) return std::nullopt;
  if (root == "self") return at_path(self, path);
  if (root == "oldSelf") return at_path(old, path);
  return std::nullopt;
}

// Nothing: not one of the rules that are evaluated here.
std::optional<bool> evaluate(std::string_view rule, const Value& self, const Value& old) {
  if (rule.find("oldSelf") == std::string_view::npos) return std::nullopt;
  bool any = false;
  while (!rule.empty()) {
    const size_t end = std::min(rule.find("||"), rule.size());
    const auto clause = rule.substr(0, end);
    rule.remove_prefix(std::min(end + 2, rule.size()));
    const size_t equals = clause.find("==");
    if (equals == std::string_view::npos) return std::nullopt;
    const auto left = operand(trim(clause.substr(0, equals)), self, old);
    const auto right = operand(trim(clause.substr(equals + 2)), self, old);
    if (!left || !right) return std::nullopt;
    any = any || *left == *right;
  }
  return any;
}

void check_transitions(const Value& value, const Value& old, const Value& schema,
                       const std::string& path, std::vector<Cause>& causes) {
  if (old.is_null() || value.is_null()) return;
  for (const auto& rule : schema["x-kubernetes-validations"].items()) {
    const auto verdict = evaluate(rule["rule"].string_or(""), value, old);
    if (verdict.value_or(true)) continue;
    const auto field = path + rule["fieldPath"].string_or("");
    const std::string message =
        rule["message"].string_or("failed rule: " + rule["rule"].string_or(""));
    causes.push_back({"FieldValueInvalid", "Invalid value: " + message, field});
  }
  for (const auto& [key, member] : value.members()) {
    const Value& rule = schema["properties"][key];
    if (rule.is_object()) check_transitions(member, old[key], rule, below(path, key), causes);
  }
}

}  // namespace

std::vector<std::string> prune(Value& object, const Value& schema) {
  std::vector<std::string> unknown;
  prune_at(object, schema, "", unknown);
  return unknown;
}

void apply_defaults(Value& object, const Value& schema) {
  if (const auto* items = object.if_array()) {
    Array filled = *items;
    for (auto& item : filled) apply_defaults(item, schema["items"]);
    object = std::move(filled);
    return;
  }
  if (!object.is_object()) return;
  for (const auto& [key, rule] : schema["properties"].members()) {
    if (!object.contains(key) && rule.contains("default")) object[key] = rule["default"];
    if (object.contains(key)) apply_defaults(object[key], rule);
  }
}

std::vector<Cause> mistakes(const Value& object, const Value& old, const Value& schema) {
  Checker checker;
  checker.check(object, schema, "");
  // As the real server: mistakes of shape hide the rules, mistakes of value do not.
  const bool blocked =
      std::any_of(checker.causes.begin(), checker.causes.end(), [](const Cause& cause) {
        return cause.reason != "FieldValueInvalid" && cause.reason != "FieldValueDuplicate";
      });
  if (!blocked) {
    check_transitions(object, old, schema, "", checker.causes);
  } else {
    checker.say("FieldValueInvalid",
                "Invalid value: null: some validation rules were not checked because the object "
                "was invalid; correct the existing errors to complete validation",
                "<nil>");
  }
  return std::move(checker.causes);
}

}  // namespace nobs::sim
