// Text from outside made fit for a terminal, and laid out in columns. Pure.
//
// Nothing that an agent sends may move the cursor, change colours or turn the direction of writing: every such character
// becomes visible or an escape before it gets here, and only our own styles colour anything.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.h"

namespace nobs::cli {

// One line, printable; a cut ends in "…".
std::string clean(std::string_view text, size_t max_bytes = 2048);
// JSON or YAML that was written by us: what a terminal might act on becomes \uXXXX.
std::string clean_json(std::string_view text);

enum class Style { Plain, Good, Bad, Doubtful, Bold, Dim };
// `text` in that style, or as it is without colours.
std::string styled(const std::string& text, Style style, bool colours);

struct Cell {
  std::string text;
  Style style = Style::Plain;

  Cell(std::string text_, Style style_ = Style::Plain)  // NOLINT: implicit on purpose
      : text(std::move(text_)), style(style_) {}
  Cell(const char* text_) : text(text_) {}  // NOLINT
};
using Row = std::vector<Cell>;

struct Page {
  size_t width = 80;  // 0: no limit
  bool colours = false;
};

// Columns as wide as their widest cell; where that is more than the page, the widest shrink. The first row is the heading.
std::string table(const std::vector<Row>& rows, const Page& page);
// Cut to the width of the page.
std::string fit(const std::string& text, size_t width);
size_t width_of(std::string_view text);  // characters
// Lines that fit beside an indentation; a longer word stays whole. A width of 0 is no limit.
std::vector<std::string> wrap(std::string_view text, size_t width, size_t indentation);

// "42s", "17m", "5h", "12d"; "-" for a text that is no time, "0s" for the future.
std::string age(std::string_view rfc3339, WallTime now);
std::string bytes_text(double bytes);  // "96.0G"

}  // namespace nobs::cli
