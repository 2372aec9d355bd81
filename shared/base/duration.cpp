#include "shared/base/duration.h"

#include <array>
#include <cmath>
#include <utility>

#include "shared/base/strings.h"

namespace nobs {
namespace {

// 64 bits of mantissa: nanoseconds stay exact up to the maximum, which they do not in a double.
using Real = long double;

constexpr std::array<std::pair<std::string_view, Real>, 6> kUnits = {{
    // two letters first, so that "ms" is not read as minutes
    {"ns", 1.0L},
    {"us", 1e3L},
    {"ms", 1e6L},
    {"s", 1e9L},
    {"m", 60e9L},
    {"h", 3600e9L},
}};
constexpr Real kMaximum = 10.0L * 365 * 24 * 3600e9L;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

Result<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  const Error wrong = invalid("not a duration: \"" + printable(text, 40) +
                              "\"; wanted like 90s, 10m or 1h30m, at most 10 years");
  if (text == "0") return std::chrono::nanoseconds(0);
  std::string_view rest = text;
  Real total = 0;
  if (rest.empty()) return wrong;
  while (!rest.empty()) {
    Real number = 0;
    Real scale = 1;
    bool point = false;
    size_t digits = 0;
    size_t used = 0;
    for (; used < rest.size() && (is_digit(rest[used]) || rest[used] == '.'); ++used) {
      if (rest[used] == '.') {
        if (point) return wrong;
        point = true;
        continue;
      }
      ++digits;
      number = number * 10 + (rest[used] - '0');
      if (point) scale *= 10;
    }
    if (digits == 0 || digits > 18) return wrong;
    rest.remove_prefix(used);
    bool found = false;
    for (const auto& [name, nanos] : kUnits) {
      if (!rest.starts_with(name)) continue;
      total += number / scale * nanos;
      rest.remove_prefix(name.size());
      found = true;
      break;
    }
    if (!found || total > kMaximum) return wrong;
  }
  return std::chrono::nanoseconds(std::llroundl(total));
}

std::string format_duration(std::chrono::nanoseconds duration) {
  long long rest = duration.count();
  if (rest == 0) return "0s";
  std::string text;
  if (rest < 0) {
    text = "-";
    rest = -rest;
  }
  constexpr std::array<std::pair<std::string_view, long long>, 6> kSteps = {
      {{"h", 3'600'000'000'000},
       {"m", 60'000'000'000},
       {"s", 1'000'000'000},
       {"ms", 1'000'000},
       {"us", 1'000},
       {"ns", 1}}};
  for (const auto& [name, nanos] : kSteps) {
    if (rest >= nanos) {
      text += std::to_string(rest / nanos);
      text += name;
      rest %= nanos;
    }
  }
  return text;
}

}  // namespace nobs
