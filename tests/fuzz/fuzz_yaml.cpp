// Whatever the file holds, we get a mistake or a bounded value; never a crash, never endless time.
#include "shared/config/options.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  using namespace nobs;
  const auto value = config::parse_yaml(fuzz::text_of(data, size));
  if (!value) {
    fuzz::require(!value.error().message.empty(), "a mistake says what it is");
    return 0;
  }
  fuzz::require(static_cast<bool>(json::parse(json::dump(*value))), "what was read is JSON");
  return 0;
}
