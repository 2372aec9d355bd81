#include "shared/base/rfc3339.h"

#include <cstdio>

#include "shared/base/strings.h"

namespace nobs {
namespace {

using std::chrono::days;
using std::chrono::nanoseconds;
using std::chrono::seconds;

std::string format(WallTime time, bool with_micros) {
  const auto whole = std::chrono::floor<seconds>(time);
  const auto day = std::chrono::floor<days>(whole);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(whole - day);
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(time - whole).count();
  char text[64];
  int size = std::snprintf(
      text, sizeof text, "%04d-%02u-%02uT%02ld:%02ld:%02ld", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<long>(clock.hours().count()), static_cast<long>(clock.minutes().count()),
      static_cast<long>(clock.seconds().count()));
  if (with_micros) {
    size += std::snprintf(text + size, sizeof text - static_cast<size_t>(size), ".%06ld",
                          static_cast<long>(micros));
  }
  return std::string(text, static_cast<size_t>(size)) + "Z";
}

// Exactly `digits` decimal digits at the front of `text`, which moves on; -1 when they are not there.
int take_digits(std::string_view& text, size_t digits) {
  if (text.size() < digits) return -1;
  int value = 0;
  for (size_t i = 0; i < digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return value;
}

// `wanted` in either case when it is a (lower-case) letter.
bool take(std::string_view& text, char wanted) {
  if (text.empty()) return false;
  const bool is_upper = text[0] >= 'A' && text[0] <= 'Z';
  if (text[0] != wanted && !(is_upper && text[0] - 'A' + 'a' == wanted)) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::string format_seconds(WallTime time) { return format(time, false); }
std::string format_micros(WallTime time) { return format(time, true); }

Result<WallTime> parse_rfc3339(std::string_view text) {
  const Error wrong =
      invalid("not a time: \"" + printable(text, 40) + "\"; wanted like 2026-11-30T21:45:28Z");
  std::string_view rest = text;
  const int year = take_digits(rest, 4);
  if (!take(rest, '-')) return wrong;
  const int month = take_digits(rest, 2);
  if (!take(rest, '-')) return wrong;
  const int day = take_digits(rest, 2);
  if (!take(rest, 't') && !take(rest, ' ')) return wrong;
  const int hour = take_digits(rest, 2);
  if (!take(rest, ':')) return wrong;
  const int minute = take_digits(rest, 2);
  if (!take(rest, ':')) return wrong;
  const int second = take_digits(rest, 2);
  if (year < 1970 || year > 2199 || month < 1 || day < 1 || hour < 0 || hour > 23 || minute < 0 ||
      minute > 59 || second < 0 || second > 60) {
    return wrong;
  }
  long long nanos = 0;
  if (take(rest, '.')) {
    int digits = 0;
    while (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') {
      if (digits < 9) nanos = nanos * 10 + (rest[0] - '0');
      ++digits;
      rest.remove_prefix(1);
    }
    if (digits == 0) return wrong;
    for (; digits < 9; ++digits) nanos *= 10;
  }
  seconds offset{0};
  if (!take(rest, 'z')) {
    const bool minus = !rest.empty() && rest[0] == '-';
    if (!take(rest, minus ? '-' : '+')) return wrong;
    const int hours = take_digits(rest, 2);
    if (!take(rest, ':')) return wrong;
    const int minutes = take_digits(rest, 2);
    if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return wrong;
    offset = std::chrono::hours(hours) + std::chrono::minutes(minutes);
    if (minus) offset = -offset;
  }
  if (!rest.empty()) return wrong;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return wrong;
  const auto whole = std::chrono::sys_days(date) + std::chrono::hours(hour) +
                     std::chrono::minutes(minute) + seconds(second) - offset;
  return WallTime(whole) + nanoseconds(nanos);
}

}  // namespace nobs
