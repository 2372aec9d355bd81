// What an answer means for the batch that was sent: the OTLP/HTTP specification as a function of values. Pure.
//
// For exporter.cpp. Source: opentelemetry.io/docs/specs/otlp, "OTLP/HTTP response" and "retryable response codes".
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shared/base/clock.h"
#include "shared/base/result.h"
#include "shared/net/http.h"
#include "shared/otel/encode.h"

namespace nobs::otel {

struct Outcome {
  enum class Kind {
    Sent,     // taken, but for `rejected` points; never sent again
    Retry,    // 429, 502, 503, 504, or no whole answer: the same batch again, after `wait` at least
    Drop,     // it will never be taken
    Stopped,  // we were asked to stop
  };
  Kind kind = Kind::Drop;
  std::uint64_t rejected = 0;
  std::optional<std::chrono::milliseconds> wait;
  std::string reason;  // for people; empty when all was taken
};

Outcome judge(const Result<net::Response>& answer, WallTime now);

// Retry-After: seconds, or a date in the form of RFC 9110 ("Sun, 06 Nov 1994 08:49:37 GMT"). At most 5 minutes.
std::optional<std::chrono::milliseconds> retry_after(std::string_view value, WallTime now);

}  // namespace nobs::otel
