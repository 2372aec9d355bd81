#include "tests/sim/api/json_patch.h"

#include <functional>
#include <optional>

#include "shared/base/strings.h"

namespace nobs::sim {
namespace {

using json::Array;
using json::Value;

// "/a~1b/c" is {"a/b", "c"}. Nothing for the whole document and for what does not begin with a slash: neither works.
std::optional<std::vector<std::string>> tokens(const Value& pointer) {
  const auto* text = pointer.if_string();
  if (!text || text->empty() || (*text)[0] != '/') return std::nullopt;
  std::vector<std::string> result;
  for (const auto piece : split(std::string_view(*text).substr(1), '/')) {
    std::string token;
    for (size_t i = 0; i < piece.size(); ++i) {
      const bool escaped = piece[i] == '~' && i + 1 < piece.size();
      token += !escaped ? piece[i] : piece[i + 1] == '1' ? '/' : '~';
      if (escaped) ++i;
    }
    result.push_back(std::move(token));
  }
  return result;
}

std::optional<size_t> index_in(const Array& items, const std::string& token) {
  const auto index = parse_u64(token);
  if (!index || *index >= items.size()) return std::nullopt;
  return static_cast<size_t>(*index);
}

// Calls `change` with the container that the pointer's last token is in. Values are copied on the way, because arrays
// inside a Value cannot be changed in place.
using Change = std::function<bool(Value& container, const std::string& last)>;
bool change_at(Value& value, const std::vector<std::string>& path, size_t depth,
               const Change& change) {
  if (depth + 1 == path.size()) return change(value, path[depth]);
  if (value.is_object()) {
    return value.contains(path[depth]) && change_at(value[path[depth]], path, depth + 1, change);
  }
  Array items = value.items();
  const auto index = index_in(items, path[depth]);
  if (!index || !change_at(items[*index], path, depth + 1, change)) return false;
  value = std::move(items);
  return true;
}

bool add(Value& container, const std::string& last, const Value& what) {
  if (container.is_object()) {
    container[last] = what;
    return true;
  }
  if (!container.is_array()) return false;
  Array items = container.items();
  const auto index = last == "-" ? items.size() : parse_u64(last);
  if (!index || *index > items.size()) return false;
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(*index), what);
  container = std::move(items);
  return true;
}

bool remove(Value& container, const std::string& last) {
  if (container.is_object()) {
    if (!container.contains(last)) return false;
    container.erase(last);
    return true;
  }
  Array items = container.items();
  const auto index = index_in(items, last);
  if (!index) return false;
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(*index));
  container = std::move(items);
  return true;
}

bool replace(Value& container, const std::string& last, const Value& what) {
  if (container.is_object()) return add(container, last, what);
  Array items = container.items();
  const auto index = index_in(items, last);
  if (!index) return false;
  items[*index] = what;
  container = std::move(items);
  return true;
}

bool test(const Value& container, const std::string& last, const Value& what) {
  if (container.is_object()) return container[last] == what;
  const auto index = index_in(container.items(), last);
  return index && container.items()[*index] == what;
}

bool apply(Value& document, const Value& operation) {
  const auto path = tokens(operation["path"]);
  if (!path) return false;
  const std::string op = operation["op"].string_or("");
  const Value& what = operation["value"];
  const auto at = [&](const Change& change) { return change_at(document, *path, 0, change); };
  if (op == "add") return at([&](Value& c, const std::string& l) { return add(c, l, what); });
  if (op == "remove") return at([](Value& c, const std::string& l) { return remove(c, l); });
  if (op == "replace")
    return at([&](Value& c, const std::string& l) { return replace(c, l, what); });
  if (op == "test") return at([&](Value& c, const std::string& l) { return test(c, l, what); });
  if (op != "copy" && op != "move") return false;

  const auto from = tokens(operation["from"]);
  Value taken;
  const bool found = from && change_at(document, *from, 0, [&](Value& c, const std::string& l) {
                       if (const auto index = index_in(c.items(), l); index) {
                         taken = c.items()[*index];
                       } else if (c.contains(l)) {
                         taken = std::as_const(c)[l];
                       } else {
                         return false;
                       }
                       return op == "copy" || remove(c, l);
                     });
  return found && at([&](Value& c, const std::string& l) { return add(c, l, taken); });
}

}  // namespace

bool apply_json_patch(Value& document, const Value& operations) {
  Value changed = document;
  for (const auto& operation : operations.items()) {
    if (!apply(changed, operation)) return false;
  }
  document = std::move(changed);
  return true;
}

}  // namespace nobs::sim
