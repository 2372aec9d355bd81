// Small text functions that the standard library lacks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nobs {

// Pieces between separators, empty ones kept: "a,,b" gives three. "" gives one empty piece.
std::vector<std::string_view> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& pieces, std::string_view separator);
// Without ASCII white space at both ends.
std::string_view trim(std::string_view text);
std::string lower(std::string_view text);

// The whole text as a decimal number without sign or space; nothing when it is not one or does not fit.
std::optional<std::uint64_t> parse_u64(std::string_view text);

// Valid UTF-8 of at most `max_bytes`: wrong bytes become U+FFFD, a cut is never inside a character and ends in "…".
std::string utf8(std::string_view text, size_t max_bytes);
// As utf8, with control characters as \xNN: for messages that quote what came from outside.
std::string printable(std::string_view text, size_t max_bytes);

// The candidate with the smallest edit distance, if that is at most 2 and less than half of the word.
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

// RFC 3986: everything but unreserved characters as %XX.
std::string percent_encode(std::string_view text);

std::optional<std::string> base64_decode(std::string_view text);
std::string base64_encode(std::string_view bytes);

// FNV-1a, 64 bits: for names that must be short and stable, never for security.
std::uint64_t fnv1a(std::string_view text);
// 16 lower-case digits.
std::string hex16(std::uint64_t value);

}  // namespace nobs
