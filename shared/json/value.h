// A JSON document as a plain value: parse, look up without checks, build, write.
//
// For small documents (one object of a list, one watch event, one patch). Lists are split first (splitter.h), never
// parsed whole. A look-up of what is not there, or in something that is no object, gives a null value, so that untrusted
// documents are read without a chain of checks. Not thread-safe to change; safe to read from many threads.
//
//   auto node = json::parse(text);
//   if (node && (*node)["spec"]["unschedulable"].bool_or(false)) ...
//   auto patch = json::object({{"status", json::object({{"health", "Healthy"}})}});
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "shared/base/result.h"

namespace nobs::json {

class Value;
using Array = std::vector<Value>;
using Object = std::map<std::string, Value, std::less<>>;

class Value {
 public:
  Value() = default;
  Value(std::nullptr_t) {}                             // NOLINT: implicit on purpose, as all below
  Value(bool value) : content_(value) {}               // NOLINT
  Value(int value) : content_(std::int64_t{value}) {}  // NOLINT
  Value(std::int64_t value) : content_(value) {}       // NOLINT
  Value(std::uint64_t value);                          // NOLINT: a double above int64
  Value(double value) : content_(value) {}             // NOLINT
  Value(const char* value) : content_(std::string(value)) {}       // NOLINT
  Value(std::string_view value) : content_(std::string(value)) {}  // NOLINT
  Value(std::string value) : content_(std::move(value)) {}         // NOLINT
  Value(Array value) : content_(std::move(value)) {}               // NOLINT
  Value(Object value) : content_(std::move(value)) {}              // NOLINT

  bool is_null() const { return content_.index() == 0; }
  bool is_object() const { return std::holds_alternative<Object>(content_); }
  bool is_array() const { return std::holds_alternative<Array>(content_); }
  bool is_string() const { return std::holds_alternative<std::string>(content_); }
  bool is_bool() const { return std::holds_alternative<bool>(content_); }
  bool is_number() const { return content_.index() == 2 || content_.index() == 3; }

  std::optional<bool> if_bool() const;
  std::optional<std::int64_t> if_int() const;  // also a double that is whole and fits
  std::optional<double> if_double() const;
  const std::string* if_string() const { return std::get_if<std::string>(&content_); }
  const Array* if_array() const { return std::get_if<Array>(&content_); }
  const Object* if_object() const { return std::get_if<Object>(&content_); }

  bool bool_or(bool fallback) const { return if_bool().value_or(fallback); }
  std::int64_t int_or(std::int64_t fallback) const { return if_int().value_or(fallback); }
  std::string string_or(std::string_view fallback) const;

  // Empty when this is something else: for loops.
  const Array& items() const;
  const Object& members() const;

  // The member, or null.
  const Value& operator[](std::string_view key) const;
  bool contains(std::string_view key) const;
  // For building: makes this an object if it is not one.
  Value& operator[](std::string_view key);
  void erase(std::string_view key);
  // For building: makes this an array if it is not one.
  void push_back(Value value);

  bool operator==(const Value& other) const = default;

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> content_;
};

Value object(std::initializer_list<std::pair<const std::string, Value>> members);
Value array(std::initializer_list<Value> items);

inline constexpr int kMaxDepth = 64;  // Kubernetes objects stay below 30

// Errors say the byte at which the text stops being JSON. Refuses deeper nesting than kMaxDepth and invalid UTF-8.
Result<Value> parse(std::string_view text);

// One line, keys sorted, always valid UTF-8 (wrong bytes become U+FFFD).
std::string dump(const Value& value);
// Indented by two spaces, for people.
std::string dump_pretty(const Value& value);

// RFC 7386: members of `patch` replace those of `target`, null removes.
void merge(Value& target, const Value& patch);
// A JSON pointer's token: "a/b~c" becomes "a~1b~0c" (RFC 6901).
std::string pointer_token(std::string_view key);

}  // namespace nobs::json
