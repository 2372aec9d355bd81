#include "shared/metrics/family.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "shared/base/strings.h"
#include "shared/metrics/text.h"

namespace nobs::metrics {
namespace {

constexpr size_t kMaxLabelValue =
    1024;  // Prometheus itself has no limit, Mimir refuses above 2,048
constexpr size_t kMaxHelp = 1024;
constexpr std::string_view kTotal = "_total";

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// OpenTelemetry's names may have dots and more, Prometheus' have only letters, digits and _.
void append_name(std::string& out, std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) out += '_';
  for (const char c : name) out += is_letter_or_digit(c) ? c : '_';
}

// Label values escape \, newline and "; HELP in 0.0.4 the first two, in OpenMetrics all three.
void append_escaped(std::string& out, std::string_view text, bool quotes) {
  for (;;) {
    const size_t at = text.find_first_of(quotes ? "\\\n\"" : "\\\n");
    out += text.substr(0, at);
    if (at == std::string_view::npos) return;
    out += '\\';
    out += text[at] == '\n' ? 'n' : text[at];
    text.remove_prefix(at + 1);
  }
}

void append_number(std::string& out, double value) {
  constexpr double kExact = 9'007'199'254'740'992.0;  // 2^53: integers up to here are exact
  char digits[32];
  std::to_chars_result end{};
  if (std::isnan(value)) {
    out += "NaN";
    return;
  }
  if (std::isinf(value)) {
    out += value > 0 ? "+Inf" : "-Inf";
    return;
  }
  if (std::trunc(value) == value && std::abs(value) <= kExact) {
    end = std::to_chars(std::begin(digits), std::end(digits), static_cast<std::int64_t>(value));
  } else {
    end = std::to_chars(std::begin(digits), std::end(digits), value);
  }
  out.append(std::begin(digits), end.ptr);
}

// OpenMetrics wants "1.0", not "1"; the same in both formats, so that a series keeps its identity.
void append_bound(std::string& out, double bound) {
  std::string text;
  append_number(text, bound);
  if (text.find_first_of(".eI") == std::string::npos) text += ".0";
  out += text;
}

// Characters of a label value that need neither cleaning nor escaping.
constexpr auto kPlain = [] {
  std::array<bool, 256> plain{};
  for (size_t c = ' '; c < 0x7F; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

bool is_plain(std::string_view text) {
  bool plain = text.size() <= kMaxLabelValue;
  for (const char c : text) plain &= kPlain[static_cast<unsigned char>(c)];
  return plain;
}

// Prometheus' word for a UCUM unit, as OpenTelemetry's exporters have it; empty: none is written.
std::string_view unit_word(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kWords = {{
      {"By", "bytes"},
      {"s", "seconds"},
      {"ms", "milliseconds"},
      {"us", "microseconds"},
      {"%", "percent"},
      {"1", "ratio"},
      {"Cel", "celsius"},
      {"W", "watts"},
      {"Hz", "hertz"},
  }};
  for (const auto& [ucum, word] : kWords) {
    if (ucum == unit) return word;
  }
  return {};
}

// Which pieces of the text were there before; empty: none. Pieces that rise, the usual case, need no look-up.
std::vector<bool> repeated_pieces(std::string_view text, const std::vector<size_t>& ends) {
  std::vector<std::string_view> pieces;
  pieces.reserve(ends.size());
  bool rises = true;
  for (size_t begin = 0; const size_t end : ends) {
    const auto piece = text.substr(begin, end - begin);
    rises = rises && (pieces.empty() || pieces.back() < piece);
    pieces.push_back(piece);
    begin = end;
  }
  if (rises) return {};
  std::unordered_set<std::string_view> seen;
  std::vector<bool> repeated;
  repeated.reserve(pieces.size());
  for (const auto piece : pieces) repeated.push_back(!seen.insert(piece).second);
  return repeated;
}

}  // namespace

std::string label_text(std::string_view value) { return utf8(value, kMaxLabelValue); }

std::string prometheus_name(const Family& family) {
  std::string name;
  append_name(name, family.name);
  if (family.type == Type::Counter && !name.ends_with(kTotal)) name += kTotal;
  return name;
}

std::vector<std::string> label_openings(const std::vector<std::string>& label_names) {
  std::vector<std::string> openings;
  for (const auto& label : label_names) {
    std::string opening = openings.empty() ? "" : ",";
    append_name(opening, label);
    openings.push_back(opening + "=\"");
  }
  return openings;
}

void append_labels(std::string& out, const std::vector<std::string>& openings,
                   const std::vector<std::string>& values) {
  const size_t count = std::min(openings.size(), values.size());
  for (size_t i = 0; i < count; ++i) {
    out += openings[i];
    if (is_plain(values[i])) {
      out += values[i];
    } else {
      append_escaped(out, label_text(values[i]), true);
    }
    out += '"';
  }
}

void append_head(std::string& out, const Family& family, std::string_view name, TextFormat format) {
  const bool open_metrics = format == TextFormat::OpenMetrics;
  std::string_view type = "gauge";
  if (family.type == Type::Histogram) type = "histogram";
  if (family.type == Type::Counter) {
    type = "counter";
    if (open_metrics) name.remove_suffix(kTotal.size());
  }
  out.append("# HELP ").append(name) += ' ';
  append_escaped(out, utf8(family.help, kMaxHelp), open_metrics);
  out.append("\n# TYPE ").append(name).append(" ").append(type) += '\n';
  const auto word = unit_word(family.unit);
  // OpenMetrics 1.0: where there is a UNIT, the name must end in _ and it.
  if (open_metrics && !word.empty() && name.ends_with("_" + std::string(word))) {
    out.append("# UNIT ").append(name).append(" ").append(word) += '\n';
  }
}

void append_value(std::string& out, std::string_view name, std::string_view labels, double value) {
  out += name;
  if (!labels.empty()) out.append("{").append(labels) += '}';
  out += ' ';
  append_number(out, value);
  out += '\n';
}

void append_histogram(std::string& out, const std::vector<double>& bounds, std::string_view name,
                      std::string_view labels, double sum,
                      const std::vector<std::uint64_t>& buckets) {
  std::string start = std::string(name) + "_bucket{" + std::string(labels);
  start += labels.empty() ? "le=\"" : ",le=\"";
  std::uint64_t count = 0;
  for (size_t i = 0; i <= bounds.size(); ++i) {
    if (i < buckets.size()) count += buckets[i];
    out += start;
    append_bound(out, i < bounds.size() ? bounds[i] : HUGE_VAL);
    out += "\"} ";
    append_number(out, static_cast<double>(count));
    out += '\n';
  }
  append_value(out, std::string(name) + "_sum", labels, sum);
  append_value(out, std::string(name) + "_count", labels, static_cast<double>(count));
}

void append_text(std::string& out, const Family& family, TextFormat format) {
  if (family.points.empty()) return;
  const std::string name = prometheus_name(family);
  append_head(out, family, name, format);
  const auto openings = label_openings(family.label_names);
  std::string texts;  // the labels of all points, one after the other
  std::vector<size_t> ends;
  ends.reserve(family.points.size());
  for (const auto& point : family.points) {
    append_labels(texts, openings, point.labels);
    ends.push_back(texts.size());
  }
  // Values that differ only in what is no UTF-8, or after the cut, look the same to a scraper.
  const auto repeated = repeated_pieces(texts, ends);
  size_t begin = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    const std::string_view labels(texts.data() + begin, ends[i] - begin);
    begin = ends[i];
    if (!repeated.empty() && repeated[i]) continue;
    const Point& point = family.points[i];
    if (family.type == Type::Histogram) {
      append_histogram(out, family.bounds, name, labels, point.value, point.buckets);
    } else {
      append_value(out, name, labels, point.value);
    }
  }
}

}  // namespace nobs::metrics
