// The grammar of the driver's values, as the kernel hands them out: one read, at most one page.
//
// For the device reader; pure, so anything may be fed to it. Each function takes what read() returned, takes away one
// newline at most, and gives nothing for anything that is not in the grammar: a value is never guessed. An empty
// read is no value; an empty line is one where the grammar has it ("\n" in unhealthy_components means healthy).
//
//   parse_number("17\n") -> 17      parse_number("-1\n"), parse_number(" 17"), parse_number("") -> nothing
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/sources/reading.h"

namespace nobs::sources {

std::optional<std::uint64_t> parse_number(std::string_view text);
// 16 lower-case hex digits; empty for an empty line (the firmware could not be read).
std::optional<std::string> parse_serial(std::string_view text);
// "NDv3", "Trn2", "Trainium2", "2.30.2.0", "live": letters, digits, '.', '-', '_'; at most 63.
std::optional<std::string> parse_word(std::string_view text);
// "12, 1, 3, 4", or an empty line.
std::optional<std::string> parse_device_list(std::string_view text);
// File `reset`: 0, 1 or 2.
std::optional<int> parse_state(std::string_view text);

struct Components {
  bool unreachable = false;
  std::vector<std::string> names;  // empty and reachable: healthy
};
std::optional<Components> parse_components(std::string_view text);

struct Heartbeat {
  bool unreachable = false;
  int sequence = 0;  // 0 to 255
};
std::optional<Heartbeat> parse_heartbeat(std::string_view text);

std::optional<PowerReading> parse_power(std::string_view text);

}  // namespace nobs::sources
