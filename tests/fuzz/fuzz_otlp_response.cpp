// Whatever a collector answers, what we take from it is bounded and can be logged.
#include "shared/base/strings.h"
#include "shared/otel/decode.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  using namespace nobs;
  const auto body = fuzz::text_of(data, size);
  for (const auto protocol : {otel::Protocol::Protobuf, otel::Protocol::Json}) {
    const auto partial = otel::decode_response(body, protocol);
    fuzz::require(partial.rejected >> 63 == 0, "a count is never negative");
    for (const auto& text : {partial.message, otel::decode_status(body, protocol)}) {
      fuzz::require(text.size() <= 300, "messages are bounded");
      fuzz::require(printable(text, 300) == text, "messages are printable");
    }
  }
  return 0;
}
