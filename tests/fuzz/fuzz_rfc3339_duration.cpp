// Times and durations that are accepted read back from how we write them.
#include "shared/base/duration.h"
#include "shared/base/rfc3339.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  using namespace nobs;
  const auto text = fuzz::text_of(data, size);
  if (const auto duration = parse_duration(text)) {
    const auto again = parse_duration(format_duration(*duration));
    fuzz::require(again && *again == *duration, "a duration reads back");
  }
  if (const auto time = parse_rfc3339(text)) {
    (void)format_micros(*time);
    // An offset may lead to the last hours of 1969 or the first of 2200, which we do not read.
    const auto again = parse_rfc3339(format_seconds(*time));
    fuzz::require(!again || *again == std::chrono::floor<std::chrono::seconds>(*time),
                  "a time reads back");
  }
  return 0;
}
