// A parsed document, written and read again, is the same document.
#include "shared/json/value.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  using namespace nobs;
  auto value = json::parse(fuzz::text_of(data, size));
  if (!value) return 0;
  const std::string text = json::dump(*value);
  const auto again = json::parse(text);
  fuzz::require(static_cast<bool>(again), "what we write can be read");
  fuzz::require(json::dump(*again) == text, "writing is stable");
  const auto pretty = json::parse(json::dump_pretty(*value));
  fuzz::require(pretty && json::dump(*pretty) == text, "the form for people holds the same");
  json::Value merged;
  json::merge(merged, *value);
  json::merge(merged, *value);
  (void)json::dump(merged);
  return 0;
}
