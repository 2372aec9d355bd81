#include "shared/metrics/registry.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

#include "shared/base/strings.h"

namespace nobs::metrics {
namespace {

constexpr size_t kMaxLabelValue =
    1024;  // Prometheus itself has no limit, Mimir refuses above 2,048
constexpr std::string_view kDropped = "neuron_observer_metrics_dropped_series_total";

// For broken invariants only: names and label counts are written by us, never by the outside.
[[noreturn]] void broken(const std::string& name, const char* what) {
  std::fprintf(stderr, "metric \"%s\": %s\n", name.c_str(), what);
  std::abort();
}

bool is_name(std::string_view text) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  return !text.empty() && text.find_first_not_of(kAllowed) == std::string_view::npos &&
         (text[0] < '0' || text[0] > '9');
}

// Label values escape \, newline and "; HELP in 0.0.4 the first two, in OpenMetrics all three.
void append_escaped(std::string& out, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && quotes) {
      out += "\\\"";
    } else {
      out += c;
    }
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
std::string bound_text(double bound) {
  std::string text;
  append_number(text, bound);
  if (text.find_first_of(".eI") == std::string::npos) text += ".0";
  return text;
}

struct LabelsHash {
  size_t operator()(const Labels& labels) const {
    size_t hash = 0;
    for (const auto& label : labels) hash = hash * 31 + std::hash<std::string>{}(label);
    return hash;
  }
};

struct Series {
  std::string labels;  // rendered: a="b",c="d"
  std::string prefix;  // rendered: name{a="b",c="d"} and a space
  double value = 0;    // of a histogram: the sum
  std::vector<std::uint64_t> buckets;
};

enum class Type { Counter, Gauge, Histogram };

struct Description {
  std::string name, help;
  Type type = Type::Gauge;
  std::vector<std::string> label_names;
  std::vector<double> bounds;  // of a histogram, with +Inf
  size_t max_series = 0;
};

// Every name under which samples of this family, or its OpenMetrics metadata, appear.
std::vector<std::string> names_of(const Description& about) {
  std::vector<std::string> names{about.name};
  if (about.type == Type::Counter) names.push_back(about.name.substr(0, about.name.size() - 6));
  if (about.type == Type::Histogram) {
    for (const char* suffix : {"_bucket", "_sum", "_count"}) names.push_back(about.name + suffix);
  }
  return names;
}

void lint(const Description& about) {
  const std::string& name = about.name;
  if (!is_name(name)) broken(name, "is no metric name");
  if (about.type == Type::Counter && (!name.ends_with("_total") || name.size() <= 6)) {
    broken(name, "is a counter and must end in _total");
  }
  if (about.type == Type::Histogram) {
    for (const char* suffix : {"_total", "_bucket", "_sum", "_count"}) {
      if (name.ends_with(suffix)) broken(name, "ends as a part of a histogram");
    }
    if (std::adjacent_find(about.bounds.begin(), about.bounds.end(),
                           [](double a, double b) { return !(a < b); }) != about.bounds.end()) {
      broken(name, "has bounds that do not rise");
    }
  }
  std::set<std::string_view> seen;
  for (const auto& label : about.label_names) {
    const bool reserved = label.starts_with("__") || (label == "le" && !about.bounds.empty());
    if (!is_name(label) || reserved || !seen.insert(label).second) {
      broken(name, "has a wrong label name");
    }
  }
}

class Family {
 public:
  Family(Description about, Counter* dropped) : about_(std::move(about)), dropped_(dropped) {}

  // Calls change(series) under the lock, on a new series where there was none.
  template <typename Change>
  void update(const Labels& labels, const Change& change) {
    if (labels.size() != about_.label_names.size()) {
      broken(about_.name, "has another number of labels");
    }
    const std::lock_guard lock(mutex_);
    auto found = series_.find(labels);
    if (found == series_.end()) {
      if (series_.size() >= about_.max_series) {
        if (dropped_ != nullptr) dropped_->add({about_.name});
        return;
      }
      found = series_.emplace(labels, rendered(labels)).first;
      sorted_.clear();
    }
    change(found->second);
  }

  void remove(const Labels& labels) {
    const std::lock_guard lock(mutex_);
    if (series_.erase(labels) > 0) sorted_.clear();
  }

  void clear() {
    const std::lock_guard lock(mutex_);
    series_.clear();
    sorted_.clear();
  }

  void render(std::string& out, bool open_metrics) {
    const std::lock_guard lock(mutex_);
    if (series_.empty()) return;
    head(out, open_metrics);
    const std::string* last = nullptr;
    for (const Series* series : sorted()) {
      // Values that differ only in what is no UTF-8, or after the cut, look the same to a scraper.
      if (last != nullptr && *last == series->prefix) continue;
      last = &series->prefix;
      if (about_.type == Type::Histogram) {
        histogram(out, *series);
      } else {
        out += series->prefix;
        append_number(out, series->value);
        out += '\n';
      }
    }
  }

  const Description& about() const { return about_; }

 private:
  Series rendered(const Labels& labels) const {
    Series series;
    for (size_t i = 0; i < labels.size(); ++i) {
      if (i > 0) series.labels += ',';
      series.labels += about_.label_names[i];
      series.labels += "=\"";
      append_escaped(series.labels, utf8(labels[i], kMaxLabelValue), true);
      series.labels += '"';
    }
    series.prefix = about_.name;
    if (!labels.empty()) series.prefix += '{' + series.labels + '}';
    series.prefix += ' ';
    series.buckets.resize(about_.bounds.size());
    return series;
  }

  // Kept between scrapes while no series comes or goes: pointers into an unordered_map stay valid.
  const std::vector<const Series*>& sorted() {
    if (sorted_.empty()) {
      sorted_.reserve(series_.size());
      for (const auto& [labels, series] : series_) sorted_.push_back(&series);
      std::sort(sorted_.begin(), sorted_.end(),
                [](const Series* a, const Series* b) { return a->prefix < b->prefix; });
    }
    return sorted_;
  }

  void head(std::string& out, bool open_metrics) const {
    std::string_view name = about_.name;
    std::string_view type = "gauge";
    if (about_.type == Type::Histogram) type = "histogram";
    if (about_.type == Type::Counter) {
      type = "counter";
      if (open_metrics) name.remove_suffix(6);  // _total
    }
    out.append("# HELP ").append(name) += ' ';
    append_escaped(out, about_.help, open_metrics);
    out.append("\n# TYPE ").append(name).append(" ").append(type) += '\n';
  }

  void histogram(std::string& out, const Series& series) const {
    const std::string_view comma = series.labels.empty() ? "" : ",";
    std::uint64_t count = 0;
    for (size_t i = 0; i < series.buckets.size(); ++i) {
      count += series.buckets[i];
      out.append(about_.name).append("_bucket{").append(series.labels).append(comma);
      out.append("le=\"").append(bound_text(about_.bounds[i])).append("\"} ");
      append_number(out, static_cast<double>(count));
      out += '\n';
    }
    const std::string braces = series.labels.empty() ? "" : '{' + series.labels + '}';
    out.append(about_.name).append("_sum").append(braces) += ' ';
    append_number(out, series.value);
    out.append("\n").append(about_.name).append("_count").append(braces) += ' ';
    append_number(out, static_cast<double>(count));
    out += '\n';
  }

  const Description about_;
  Counter* const dropped_;
  std::mutex mutex_;
  std::unordered_map<Labels, Series, LabelsHash> series_;
  std::vector<const Series*> sorted_;
};

struct CounterFamily final : Counter {
  CounterFamily(Description about, Counter* dropped) : family(std::move(about), dropped) {}
  void add(const Labels& labels, double amount) override {
    if (!(amount >= 0)) return;  // a counter never falls
    family.update(labels, [&](Series& series) { series.value += amount; });
  }
  void set(const Labels& labels, double total) override {
    family.update(labels, [&](Series& series) { series.value = total; });
  }
  void remove(const Labels& labels) override { family.remove(labels); }
  Family family;
};

struct GaugeFamily final : Gauge {
  GaugeFamily(Description about, Counter* dropped) : family(std::move(about), dropped) {}
  void set(const Labels& labels, double value) override {
    family.update(labels, [&](Series& series) { series.value = value; });
  }
  void remove(const Labels& labels) override { family.remove(labels); }
  void clear() override { family.clear(); }
  Family family;
};

struct HistogramFamily final : Histogram {
  HistogramFamily(Description about, Counter* dropped) : family(std::move(about), dropped) {}
  void observe(const Labels& labels, double value) override {
    if (std::isnan(value)) return;
    const auto& bounds = family.about().bounds;
    const auto bucket = std::lower_bound(bounds.begin(), bounds.end(), value) - bounds.begin();
    family.update(labels, [&](Series& series) {
      ++series.buckets[static_cast<size_t>(bucket)];
      series.value += value;
    });
  }
  Family family;
};

}  // namespace

struct Registry::State {
  // Registers a family under its name; families are never removed, so references to them stay valid.
  template <typename Kind>
  Kind& add(Description about) {
    lint(about);
    const std::lock_guard lock(mutex);
    for (auto& name : names_of(about)) {
      if (!names.insert(name).second) broken(about.name, "is declared twice");
    }
    const std::string name = about.name;
    auto kind = std::make_shared<Kind>(std::move(about), dropped);
    families.emplace(name, std::shared_ptr<Family>(kind, &kind->family));
    return *kind;
  }

  std::string render(bool open_metrics) {
    std::vector<std::shared_ptr<Family>> all;
    {
      const std::lock_guard lock(mutex);
      for (const auto& [name, family] : families) all.push_back(family);
    }
    std::string out;
    out.reserve(last_size);
    for (const auto& family : all) family->render(out, open_metrics);
    if (open_metrics) out += "# EOF\n";
    last_size = out.size() + out.size() / 8;
    return out;
  }

  std::mutex mutex;
  std::map<std::string, std::shared_ptr<Family>> families;  // by name: scrapes have one order
  std::set<std::string> names;
  Counter* dropped = nullptr;
  std::atomic<size_t> last_size = 0;  // spares the growing of the next scrape's text
};

Registry::Registry() : state_(std::make_unique<State>()) {
  state_->dropped = &counter(
      std::string(kDropped),
      "Updates of series that were dropped because their family was full, by family.", {"family"});
}

Registry::~Registry() = default;

Counter& Registry::counter(std::string name, std::string help, std::vector<std::string> labels,
                           size_t max_series) {
  const bool plain = labels.empty();
  auto& family = state_->add<CounterFamily>(
      {std::move(name), std::move(help), Type::Counter, std::move(labels), {}, max_series});
  if (plain) family.set({}, 0);  // so that rate() works from the first scrape
  return family;
}

Gauge& Registry::gauge(std::string name, std::string help, std::vector<std::string> labels,
                       size_t max_series) {
  return state_->add<GaugeFamily>(
      {std::move(name), std::move(help), Type::Gauge, std::move(labels), {}, max_series});
}

Histogram& Registry::histogram(std::string name, std::string help, std::vector<double> upper_bounds,
                               std::vector<std::string> labels, size_t max_series) {
  upper_bounds.push_back(std::numeric_limits<double>::infinity());
  const bool plain = labels.empty();
  auto& family =
      state_->add<HistogramFamily>({std::move(name), std::move(help), Type::Histogram,
                                    std::move(labels), std::move(upper_bounds), max_series});
  if (plain) family.family.update({}, [](Series&) {});
  return family;
}

std::string Registry::text() const { return state_->render(false); }
std::string Registry::open_metrics() const { return state_->render(true); }

}  // namespace nobs::metrics
