#include "agent/serve/query.h"

#include <algorithm>

#include "shared/base/strings.h"

namespace nobs::serve {
namespace {

constexpr size_t kQuoted = 60;  // bytes of what was asked that an error repeats

std::string list_of(const std::vector<std::string_view>& accepted) {
  std::string list;
  for (const auto name : accepted) list.append(list.empty() ? "" : ", ").append(name);
  return list.empty() ? "none is accepted here" : "accepted are: " + list;
}

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (text.size() - i < 3 || hex(text[i + 1]) < 0 || hex(text[i + 2]) < 0) return std::nullopt;
    decoded += static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2]));
    i += 2;
  }
  return decoded;
}

}  // namespace

Result<Query> Query::parse(std::string_view text, const std::vector<std::string_view>& accepted) {
  Query query;
  if (text.empty()) return query;
  for (const auto pair : split(text, '&')) {
    const size_t equals = std::min(pair.find('='), pair.size());
    const auto name = percent_decode(pair.substr(0, equals));
    const auto value = percent_decode(pair.substr(std::min(equals + 1, pair.size())));
    if (!name || !value)
      return invalid("query: \"" + printable(pair, kQuoted) + "\" is not percent-encoded");
    if (std::find(accepted.begin(), accepted.end(), *name) == accepted.end())
      return invalid("query: unknown parameter \"" + printable(*name, kQuoted) + "\"; " +
                     list_of(accepted));
    if (!query.values_.emplace(*name, *value).second)
      return invalid("query: parameter \"" + *name + "\" is given more than once");
  }
  return query;
}

const std::string* Query::text(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

Result<std::optional<std::uint64_t>> Query::number(std::string_view name, std::uint64_t minimum,
                                                   std::uint64_t maximum) const {
  const auto* value = text(name);
  if (value == nullptr) return std::optional<std::uint64_t>();
  const auto number = plain_number(*value, minimum, maximum);
  if (!number)
    return invalid("query: parameter \"" + std::string(name) + "\" is \"" +
                   printable(*value, kQuoted) + "\"; accepted is a whole number from " +
                   std::to_string(minimum) + " to " + std::to_string(maximum));
  return number;
}

std::optional<std::uint64_t> plain_number(std::string_view text, std::uint64_t minimum,
                                          std::uint64_t maximum) {
  if (text.size() > 1 && text.front() == '0') return std::nullopt;
  const auto number = parse_u64(text);
  if (!number || *number < minimum || *number > maximum) return std::nullopt;
  return number;
}

}  // namespace nobs::serve
