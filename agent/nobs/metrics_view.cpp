#include "agent/nobs/metrics_view.h"

#include "shared/base/strings.h"

namespace nobs::cli {
namespace {

using json::Value;

// Where the labels end: a brace inside a quoted value does not count.
size_t end_of_labels(std::string_view line, size_t begin) {
  bool quoted = false;
  for (size_t i = begin; i < line.size(); ++i) {
    if (quoted && line[i] == '\\') {
      ++i;
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == '}' && !quoted) {
      return i;
    }
  }
  return std::string_view::npos;
}

}  // namespace

Value parse_metrics(std::string_view text, std::string_view wanted) {
  json::Array series;
  for (const auto whole : split(text, '\n')) {
    const auto line = trim(whole);
    if (line.empty() || line.starts_with('#') || line.find(wanted) == std::string_view::npos)
      continue;
    const size_t name_end = line.find_first_of("{ ");
    if (name_end == std::string_view::npos || name_end == 0) continue;
    std::string_view labels;
    std::string_view rest = line.substr(name_end);
    if (rest.starts_with('{')) {
      const size_t end = end_of_labels(rest, 1);
      if (end == std::string_view::npos) continue;
      labels = rest.substr(1, end - 1);
      rest.remove_prefix(end + 1);
    }
    rest = trim(rest);
    const auto value = rest.substr(0, rest.find(' '));
    if (value.empty()) continue;
    series.push_back(
        json::object({{"name", line.substr(0, name_end)}, {"labels", labels}, {"value", value}}));
  }
  return series;
}

std::string metrics_text(const Value& series, const Page& page) {
  std::vector<Row> rows = {{"VALUE", "NAME", "LABELS"}};
  for (const auto& each : series.items())
    rows.push_back({clean(each["value"].string_or("")), clean(each["name"].string_or("")),
                    clean(each["labels"].string_or(""))});
  return rows.size() == 1 ? "no such series\n" : table(rows, page);
}

}  // namespace nobs::cli
