#include <doctest/doctest.h>

#include <chrono>
#include <string>

#include "shared/base/backoff.h"
#include "shared/base/duration.h"
#include "shared/base/rfc3339.h"
#include "tests/support/fake_clock.h"

namespace nobs {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

const WallTime kMoment{std::chrono::sys_days{std::chrono::year{2026} / 11 / 30} + 21h + 45min +
                       28s};

bool is_time(const std::string& text, WallTime wanted) {
  const auto time = parse_rfc3339(text);
  return time && *time == wanted;
}

}  // namespace

TEST_CASE("times are written as the API wants them") {
  CHECK(format_seconds(kMoment) == "2026-11-30T21:45:28Z");
  CHECK(format_seconds(kMoment + 999ms) == "2026-11-30T21:45:28Z");
  CHECK(format_micros(kMoment) == "2026-11-30T21:45:28.000000Z");
  CHECK(format_micros(kMoment + 1234567ns) == "2026-11-30T21:45:28.001234Z");
  CHECK(format_micros(WallTime{} - 1us) == "1969-12-31T23:59:59.999999Z");
}

TEST_CASE("every form of RFC 3339 is read") {
  CHECK(is_time("2026-11-30T21:45:28Z", kMoment));
  CHECK(is_time("2026-11-30t21:45:28z", kMoment));
  CHECK(is_time("2026-11-30 21:45:28Z", kMoment));
  CHECK(is_time("2026-11-30T23:45:28+02:00", kMoment));
  CHECK(is_time("2026-11-30T16:15:28-05:30", kMoment));
  CHECK(is_time("2026-11-30T21:45:28.5Z", kMoment + 500ms));
  CHECK(is_time("2026-11-30T21:45:28.1234567891Z", kMoment + 123456789ns));
  CHECK(is_time("2024-02-29T00:00:00Z",
                WallTime{std::chrono::sys_days{std::chrono::year{2024} / 2 / 29}}));
  CHECK(is_time("2026-11-30T21:45:60Z", kMoment + 32s));  // a leap second
}

TEST_CASE("what is no time is refused") {
  for (const auto* wrong : {"",
                            "2026",
                            "2026-11-30",
                            "2026-11-30T21:45:28",
                            "2026-11-30T21:45Z",
                            "2026-11-31T00:00:00Z",
                            "2025-02-29T00:00:00Z",
                            "2026-13-01T00:00:00Z",
                            "2026-00-01T00:00:00Z",
                            "2026-11-00T00:00:00Z",
                            "2026-11-30T24:00:00Z",
                            "2026-11-30T21:60:00Z",
                            "2026-11-30T21:45:61Z",
                            "2026-11-30T21:45:28.Z",
                            "2026-11-30T21:45:28Zx",
                            "2026-11-30T21:45:28+2:00",
                            "2026-11-30T21:45:28+24:00",
                            "1969-12-31T23:59:59Z",
                            "2200-01-01T00:00:00Z",
                            "-026-11-30T21:45:28Z",
                            "2026-1-30T21:45:28Z",
                            "2026\r11\r30T21:45:28Z",
                            "2026-11-30T21\x1a"
                            "45:28Z",
                            "2026-11-30\0T21:45:28Z"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_rfc3339(wrong));
  }
}

TEST_CASE("a written time reads back") {
  for (const auto time : {WallTime{}, kMoment, kMoment + 1us}) {
    CHECK(is_time(format_micros(time), time));
  }
}

TEST_CASE("durations are read as Go reads them") {
  const auto is = [](const char* text, nanoseconds wanted) {
    const auto value = parse_duration(text);
    return value && *value == wanted;
  };
  CHECK(is("90s", 90s));
  CHECK(is("1h30m", 90min));
  CHECK(is("1.5h", 90min));
  CHECK(is("250ms", 250ms));
  CHECK(is("5us", 5us));
  CHECK(is("7ns", 7ns));
  CHECK(is("0", 0ns));
  CHECK(is("0s", 0ns));
  CHECK(is(".5s", 500ms));
  CHECK(is("87600h", 87600h));
}

TEST_CASE("durations that are none, negative or longer than ten years are refused") {
  for (const auto* wrong : {"", "s", "10", "-1s", "1x", "1 s", " 1s", "1s ", "1.2.3s", "1e3s", ".s",
                            "87601h", "9999999999999999999s", "100000000000000000h", "1d", "00"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_duration(wrong));
  }
}

TEST_CASE("a written duration reads back exactly, also near ten years") {
  CHECK(format_duration(90s) == "1m30s");
  CHECK(format_duration(0s) == "0s");
  CHECK(format_duration(-90s) == "-1m30s");
  CHECK(format_duration(1h + 1ns) == "1h1ns");
  for (const nanoseconds value : {1ns, 1001ns, 90'061'001'001'001ns, nanoseconds(87600h) - 1ns}) {
    const std::string text = format_duration(value);
    CAPTURE(text);
    const auto read = parse_duration(text);
    REQUIRE(read);
    CHECK(*read == value);
  }
}

TEST_CASE("waiting doubles up to its maximum, never beyond maximum and jitter, and starts anew") {
  double random = 0;
  Backoff backoff({.initial = 100ms, .maximum = 350ms, .jitter = 0.5}, [&] { return random; });
  CHECK(backoff.next() == 100ms);
  CHECK(backoff.next() == 200ms);
  CHECK(backoff.next() == 350ms);
  random = 0.999999;
  CHECK(backoff.next() > 500ms);
  CHECK(backoff.next() <= 525ms);
  random = 0;
  backoff.reset();
  CHECK(backoff.next() == 100ms);
}

TEST_CASE("the system's random numbers lie in [0, 1) and differ") {
  const Random random = system_random();
  const double first = random();
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const double value = random();
    CHECK(value >= 0.0);
    CHECK(value < 1.0);
    differs = differs || value != first;
  }
  CHECK(differs);
}

TEST_CASE("a wait on the system's clock ends at once when stop is requested") {
  SystemClock clock;
  std::stop_source stop;
  stop.request_stop();
  const auto before = clock.steady();
  CHECK_FALSE(clock.wait_for(1h, stop.get_token()));
  CHECK(clock.steady() - before < 5s);
  CHECK(clock.wait_for(1ms, {}));
}

}  // namespace nobs
