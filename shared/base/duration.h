// Durations as Go and Kubernetes write them: "90s", "1h30m", "250ms".
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "shared/base/result.h"

namespace nobs {

// Units ns, us, ms, s, m, h; fractions allowed; "0" is zero. Negative and above 10 years are refused.
Result<std::chrono::nanoseconds> parse_duration(std::string_view text);
// The shortest exact form: 90'000'000'000 ns is "1m30s".
std::string format_duration(std::chrono::nanoseconds duration);

}  // namespace nobs
