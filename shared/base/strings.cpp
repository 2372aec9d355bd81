#include "shared/base/strings.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <numeric>

namespace nobs {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kEllipsis = "\xE2\x80\xA6";
constexpr char kHex[] = "0123456789abcdef";

// Bytes of the valid UTF-8 character at the front of `text`; 0 when there is none (RFC 3629).
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  size_t length = 0;
  unsigned low = 0x80;
  unsigned high = 0xBF;
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
  } else if ((first & 0xF0) == 0xE0) {
    length = 3;
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
  }
  if (length == 0 || text.size() < length) return 0;
  if (byte(1) < low || byte(1) > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

std::string clean(std::string_view text, size_t max_bytes, bool escape_controls) {
  std::string result;
  size_t cut = 0;  // the longest part of `result` that leaves room for the ellipsis
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text[0]);
    const size_t length = utf8_length(text);
    if (length == 0) {
      result += kReplacement;
    } else if (escape_controls && (first < 0x20 || first == 0x7F)) {
      result += {'\\', 'x', kHex[first >> 4], kHex[first & 15]};
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
    if (result.size() > max_bytes) {
      result.resize(cut);
      if (max_bytes >= kEllipsis.size()) result += kEllipsis;
      return result;
    }
    if (result.size() + kEllipsis.size() <= max_bytes) cut = result.size();
  }
  return result;
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (;;) {
    const size_t at = text.find(separator);
    pieces.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return pieces;
    text.remove_prefix(at + 1);
  }
}

std::string join(const std::vector<std::string>& pieces, std::string_view separator) {
  std::string text;
  for (const auto& piece : pieces) {
    if (&piece != pieces.data()) text += separator;
    text += piece;
  }
  return text;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::optional<std::uint64_t> parse_u64(std::string_view text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  const auto [stopped, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc{} || stopped != end) return std::nullopt;
  return value;
}

std::string utf8(std::string_view text, size_t max_bytes) { return clean(text, max_bytes, false); }
std::string printable(std::string_view text, size_t max_bytes) {
  return clean(text, max_bytes, true);
}

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  size_t best_distance = 3;
  if (word.size() > 256) return best;
  for (const auto& candidate : candidates) {
    const size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && distance * 2 < word.size()) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string percent_encode(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x80 && std::isalnum(byte)) || c == '-' || c == '.' || c == '_' || c == '~') {
      result += c;
    } else {
      result += {'%', static_cast<char>(std::toupper(kHex[byte >> 4])),
                 static_cast<char>(std::toupper(kHex[byte & 15]))};
    }
  }
  return result;
}

std::optional<std::string> base64_decode(std::string_view text) {
  std::string bytes;
  unsigned buffer = 0;
  int bits = 0;
  size_t padding = 0;
  size_t symbols = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == ' ') continue;
    ++symbols;
    if (c == '=') {
      ++padding;
      continue;
    }
    const size_t value = kBase64.find(c);
    if (padding > 0 || value == std::string_view::npos) return std::nullopt;
    buffer = (buffer << 6 | static_cast<unsigned>(value)) & 0xFFFFFF;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>(buffer >> bits & 0xFF);
    }
  }
  if (symbols % 4 != 0 || padding > 2) return std::nullopt;
  return bytes;
}

std::string base64_encode(std::string_view bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](size_t k) {
      return i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U;
    };
    const unsigned group = byte(0) << 16 | byte(1) << 8 | byte(2);
    text += kBase64[group >> 18];
    text += kBase64[group >> 12 & 63];
    text += i + 1 < bytes.size() ? kBase64[group >> 6 & 63] : '=';
    text += i + 2 < bytes.size() ? kBase64[group & 63] : '=';
  }
  return text;
}

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211ULL;
  }
  return hash;
}

std::string hex16(std::uint64_t value) {
  std::string text(16, '0');
  for (size_t i = 16; i-- > 0; value >>= 4) text[i] = kHex[value & 15];
  return text;
}

}  // namespace nobs
