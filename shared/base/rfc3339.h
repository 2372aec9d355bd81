// Times as the Kubernetes API writes them: RFC 3339 in UTC, "2026-11-30T21:45:28Z" or with a fraction.
#pragma once

#include <string>
#include <string_view>

#include "shared/base/clock.h"
#include "shared/base/result.h"

namespace nobs {

// metav1.Time: whole seconds.
std::string format_seconds(WallTime time);
// metav1.MicroTime (Lease): always six digits.
std::string format_micros(WallTime time);
// Any RFC 3339 time with any offset; years 1970 to 2199. Leap seconds count as the following second.
Result<WallTime> parse_rfc3339(std::string_view text);

}  // namespace nobs
