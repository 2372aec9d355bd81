#include "agent/nobs/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "shared/base/rfc3339.h"
#include "shared/base/strings.h"

namespace nobs::cli {
namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// The code point at `at` of valid UTF-8, and how long it is.
struct Character {
  char32_t code = 0;
  size_t size = 1;
};
Character character_at(std::string_view text, size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  Character result{first, 1};
  if (first >= 0xC0) result.code = first & (first >= 0xF0 ? 0x07U : first >= 0xE0 ? 0x0FU : 0x1FU);
  while (first >= 0xC0 && at + result.size < text.size() && is_continuation(text[at + result.size]))
    result.code =
        result.code << 6U | (static_cast<unsigned char>(text[at + result.size++]) & 0x3FU);
  return result;
}

// C1 controls (U+009B is an escape sequence's beginning), line separators, and what turns the direction of text.
bool is_deceptive(char32_t code) {
  return (code >= 0x7F && code <= 0x9F) || code == 0x061C || (code >= 0x200B && code <= 0x200F) ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x206F) ||
         code == 0xFEFF || (code >= 0xE0000 && code <= 0xE0FFF);
}

std::string escape_deceptive(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const auto [code, size] = character_at(text, at);
    if (!is_deceptive(code)) {
      result += text.substr(at, size);
    } else if (code <= 0xFFFF) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(code));
      result += escape;
    } else {
      result += "?";
    }
    at += size;
  }
  return result;
}

}  // namespace

std::string clean(std::string_view text, size_t max_bytes) {
  return escape_deceptive(printable(text, max_bytes));
}

std::string clean_json(std::string_view text) { return escape_deceptive(text); }

std::string styled(const std::string& text, Style style, bool colours) {
  constexpr std::array<const char*, 6> kCodes = {"", "32", "31", "33", "1", "2"};
  const char* code = kCodes.at(static_cast<size_t>(style));
  if (!colours || *code == '\0' || text.empty()) return text;
  return "\x1b[" + std::string(code) + "m" + text + "\x1b[0m";
}

size_t width_of(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

std::string fit(const std::string& text, size_t width) {
  if (width == 0 || width_of(text) <= width) return text;
  size_t end = 0;
  for (size_t shown = 0; end < text.size(); ++end) {
    if (!is_continuation(text[end]) && ++shown > width - 1) break;
  }
  return text.substr(0, end) + "…";
}

std::vector<std::string> wrap(std::string_view text, size_t width, size_t indentation) {
  if (width == 0) return {std::string(text)};
  std::vector<std::string> lines;
  for (const auto word : split(text, ' ')) {
    const bool fits =
        !lines.empty() && indentation + width_of(lines.back()) + 1 + width_of(word) <= width;
    if (fits) {
      lines.back().append(" ").append(word);
    } else {
      lines.emplace_back(word);
    }
  }
  return lines;
}

std::string table(const std::vector<Row>& rows, const Page& page) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i].text));
  }
  const auto total = [&] {
    size_t sum = widths.empty() ? 0 : 2 * (widths.size() - 1);
    for (const size_t width : widths) sum += width;
    return sum;
  };
  while (page.width != 0 && total() > page.width) {
    const auto widest = std::max_element(widths.begin(), widths.end());
    if (*widest <= 4) break;
    --*widest;
  }
  std::string text;
  for (size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    size_t owed = 0;  // spaces before the next cell: none at the end of a line
    for (size_t i = 0; i < rows[r].size(); ++i) {
      const auto& cell = rows[r][i];
      const std::string shown = fit(cell.text, widths[i]);
      const Style style = r == 0 ? Style::Bold : cell.style;
      if (!shown.empty()) {
        line.append(owed, ' ').append(styled(shown, style, page.colours));
        owed = 0;
      }
      owed += widths[i] - width_of(shown) + 2;
    }
    text += line + "\n";
  }
  return text;
}

std::string age(std::string_view rfc3339, WallTime now) {
  const auto time = parse_rfc3339(rfc3339);
  if (!time) return "-";
  const auto seconds = std::max<std::int64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(now - *time).count(), 0);
  if (seconds < 120) return std::to_string(seconds) + "s";
  if (seconds < 7'200) return std::to_string(seconds / 60) + "m";
  if (seconds < 172'800) return std::to_string(seconds / 3'600) + "h";
  return std::to_string(seconds / 86'400) + "d";
}

std::string bytes_text(double bytes) {
  constexpr std::array<const char*, 6> kUnits = {"", "K", "M", "G", "T", "P"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f%s" : "%.1f%s", bytes, kUnits.at(unit));
  return text;
}

}  // namespace nobs::cli
