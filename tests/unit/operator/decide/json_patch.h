// A JSON patch (RFC 6902: test, add, remove) applied as the API server does: as a whole or not at all, and `test` of null
// passes where the member is absent but its parent is there (evanphx/json-patch).
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

#include "shared/base/strings.h"
#include "shared/json/value.h"

namespace nobs::decide::test {

inline std::string unescape(std::string_view token) {
  std::string text;
  for (size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '~') {
      text += token[i];
    } else {
      text += token[++i] == '1' ? '/' : '~';
    }
  }
  return text;
}

// `path` without its first "/"; false where the operation cannot be done.
inline bool apply_at(json::Value& at, std::string_view path, const std::string& op,
                     const json::Value& value) {
  const size_t cut = path.find('/');
  const std::string token = unescape(path.substr(0, cut));
  const bool is_last = cut == std::string_view::npos;
  if (const auto* list = at.if_array()) {
    json::Array items = *list;
    const auto index = token == "-" ? items.size() : parse_u64(token).value_or(items.size() + 1);
    const bool exists = index < items.size();
    const auto place = items.begin() + static_cast<std::ptrdiff_t>(index);
    if (!is_last) {
      if (!exists || !apply_at(*place, path.substr(cut + 1), op, value)) return false;
    } else if (op == "add") {
      if (index > items.size()) return false;
      items.insert(place, value);
    } else if (!exists) {
      return false;
    } else if (op == "test") {
      return *place == value;
    } else {
      items.erase(place);
    }
    at = json::Value(std::move(items));
    return true;
  }
  if (!at.is_object()) return false;
  if (!is_last) return at.contains(token) && apply_at(at[token], path.substr(cut + 1), op, value);
  if (op == "test") return std::as_const(at)[token] == value;
  if (op == "remove") {
    if (!at.contains(token)) return false;
    at.erase(token);
  } else {
    at[token] = value;
  }
  return true;
}

inline bool apply_patch(json::Value& document, const json::Value& operations) {
  json::Value changed = document;
  for (const auto& operation : operations.items()) {
    const std::string op = operation["op"].string_or("");
    const std::string path = operation["path"].string_or("");
    if ((op != "test" && op != "add" && op != "remove") || !path.starts_with('/')) return false;
    if (!apply_at(changed, std::string_view(path).substr(1), op, operation["value"])) return false;
  }
  document = std::move(changed);
  return true;
}

}  // namespace nobs::decide::test
