#include "agent/sources/value.h"

#include <algorithm>
#include <array>

#include "shared/base/strings.h"

namespace nobs::sources {
namespace {

constexpr std::string_view kUnreachable = "device_unreachable";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

// Nothing for an empty read. No grammar below allows a newline, so a second line is refused by each.
std::optional<std::string_view> line(std::string_view text) {
  if (text.empty()) return std::nullopt;
  if (text.back() == '\n') text.remove_suffix(1);
  return text;
}

// "73.36": the driver prints exactly two decimals.
std::optional<double> parse_percent(std::string_view text) {
  if (text.size() < 4 || text[text.size() - 3] != '.') return std::nullopt;
  const auto whole = parse_u64(text.substr(0, text.size() - 3));
  const auto hundredths = parse_u64(text.substr(text.size() - 2));
  if (!whole || !hundredths || *whole > 100) return std::nullopt;
  return static_cast<double>(*whole) + static_cast<double>(*hundredths) / 100;
}

}  // namespace

std::optional<std::uint64_t> parse_number(std::string_view text) {
  const auto value = line(text);
  return value ? parse_u64(*value) : std::nullopt;
}

std::optional<std::string> parse_serial(std::string_view text) {
  const auto value = line(text);
  if (!value || (!value->empty() && value->size() != 16)) return std::nullopt;
  const auto hex = [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); };
  if (!std::ranges::all_of(*value, hex)) return std::nullopt;
  return std::string(*value);
}

std::optional<std::string> parse_word(std::string_view text) {
  const auto value = line(text);
  if (!value || value->empty() || value->size() > 63) return std::nullopt;
  const auto allowed = [](char c) {
    return is_digit(c) || is_lower(c) || (c >= 'A' && c <= 'Z') || c == '.' || c == '-' || c == '_';
  };
  if (!std::ranges::all_of(*value, allowed)) return std::nullopt;
  return std::string(*value);
}

std::optional<std::string> parse_device_list(std::string_view text) {
  const auto value = line(text);
  if (!value || value->size() > 63) return std::nullopt;
  if (value->empty()) return "";
  for (std::string_view rest = *value;;) {
    const size_t comma = rest.find(", ");
    if (!parse_u64(rest.substr(0, comma))) return std::nullopt;
    if (comma == std::string_view::npos) return std::string(*value);
    rest.remove_prefix(comma + 2);
  }
}

std::optional<int> parse_state(std::string_view text) {
  const auto value = line(text);
  if (!value || value->size() != 1 || (*value)[0] < '0' || (*value)[0] > '2') return std::nullopt;
  return (*value)[0] - '0';
}

std::optional<Components> parse_components(std::string_view text) {
  const auto value = line(text);
  if (!value) return std::nullopt;
  if (value->empty()) return Components{};
  if (*value == kUnreachable) return Components{true, {}};
  Components components;
  const auto pieces = split(*value, ',');
  for (const std::string_view name : pieces) {
    const auto allowed = [](char c) { return is_lower(c) || c == '_'; };
    if (name.empty() || !std::ranges::all_of(name, allowed)) return std::nullopt;
    components.names.emplace_back(name);
  }
  return components;
}

std::optional<Heartbeat> parse_heartbeat(std::string_view text) {
  const auto value = line(text);
  if (!value) return std::nullopt;
  if (*value == kUnreachable) return Heartbeat{true, 0};
  const auto number = value->size() <= 3 ? parse_u64(*value) : std::nullopt;
  if (!number || *number > 255) return std::nullopt;
  return Heartbeat{false, static_cast<int>(*number)};
}

std::optional<PowerReading> parse_power(std::string_view text) {
  constexpr std::array<std::string_view, 4> kStatuses = {
      "POWER_STATUS_VALID", "POWER_STATUS_NO_DATA", "POWER_STATUS_INVALID", "POWER_STATUS_MAX"};
  const auto value = line(text);
  if (!value) return std::nullopt;
  const auto fields = split(*value, ',');
  if (fields.size() != 5 || std::ranges::find(kStatuses, fields[0]) == kStatuses.end())
    return std::nullopt;
  const auto at = parse_u64(fields[1]);
  const auto minimum = parse_percent(fields[2]);
  const auto maximum = parse_percent(fields[3]);
  const auto average = parse_percent(fields[4]);
  if (!at || !minimum || !maximum || !average) return std::nullopt;
  // 2.25 says VALID before the first minute is over: a timestamp of 0 means no data whatever the word says.
  const bool valid = fields[0] == kStatuses[0] && *at != 0;
  return PowerReading{valid, *at, *minimum, *maximum, *average};
}

}  // namespace nobs::sources
