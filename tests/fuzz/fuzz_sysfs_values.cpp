// Whatever a driver prints: what is accepted is within the grammar, and nothing is guessed.
#include "agent/sources/driver.h"
#include "agent/sources/value.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  using namespace nobs;
  using namespace nobs::sources;
  const std::string_view text = fuzz::text_of(data, size);
  if (const auto number = parse_number(text))
    fuzz::require(parse_number(std::to_string(*number) + "\n") == *number, "a number reads back");
  if (const auto serial = parse_serial(text))
    fuzz::require(serial->empty() || serial->size() == 16, "a serial number has 16 digits");
  if (const auto components = parse_components(text)) {
    fuzz::require(!components->unreachable || components->names.empty(),
                  "an unreachable device names no components");
    for (const std::string& name : components->names)
      fuzz::require(!name.empty() && name.find(',') == std::string::npos, "names are names");
  }
  if (const auto heartbeat = parse_heartbeat(text))
    fuzz::require(heartbeat->sequence >= 0 && heartbeat->sequence <= 255, "a heartbeat is a byte");
  if (const auto power = parse_power(text)) {
    fuzz::require(power->average >= 0 && power->average < 101, "power is a percentage");
    fuzz::require(!power->valid || power->closed_seconds != 0, "no data without a time");
  }
  if (const auto state = parse_state(text))
    fuzz::require(*state >= 0 && *state <= 2, "there are three states");
  if (const auto word = parse_word(text))
    fuzz::require(!word->empty() && word->size() <= 63, "a word is short");
  if (const auto version = parse_version(text))
    fuzz::require(version->major >= 0 && version->minor >= 0, "versions are not negative");
  return 0;
}
