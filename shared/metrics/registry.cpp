#include "shared/metrics/registry.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

#include "shared/metrics/text.h"

namespace nobs::metrics {
namespace {

constexpr std::string_view kTotal = "_total";
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

struct LabelsHash {
  size_t operator()(const Labels& labels) const {
    size_t hash = 0;
    for (const auto& label : labels) hash = hash * 31 + std::hash<std::string>{}(label);
    return hash;
  }
};

struct Series {
  std::string text;  // of its labels
  double value = 0;  // of a histogram: the sum
  std::vector<std::uint64_t> buckets;
};

struct Description {
  std::string name, help;  // a counter's name with _total
  Type type = Type::Gauge;
  std::vector<std::string> label_names;
  std::vector<double> bounds;  // of a histogram, without +Inf
  size_t max_series = 0;
};

// Base units stand in our names (Prometheus' convention), so that nobody has to say them twice.
std::string unit_of(std::string_view name) {
  if (name.ends_with("_seconds")) return "s";
  if (name.ends_with("_bytes")) return "By";
  return {};
}

// Every name under which samples of this family, or its OpenMetrics metadata, appear.
std::vector<std::string> names_of(const Description& about) {
  std::vector<std::string> names{about.name};
  if (about.type == Type::Counter)
    names.push_back(about.name.substr(0, about.name.size() - kTotal.size()));
  if (about.type == Type::Histogram) {
    for (const char* suffix : {"_bucket", "_sum", "_count"}) names.push_back(about.name + suffix);
  }
  return names;
}

void lint(const Description& about) {
  const std::string& name = about.name;
  if (!is_name(name)) broken(name, "is no metric name");
  if (about.type == Type::Counter && (!name.ends_with(kTotal) || name.size() <= kTotal.size())) {
    broken(name, "is a counter and must end in _total");
  }
  if (about.type == Type::Histogram) {
    for (const char* suffix : {"_total", "_bucket", "_sum", "_count"}) {
      if (name.ends_with(suffix)) broken(name, "ends as a part of a histogram");
    }
    const bool rise =
        std::adjacent_find(about.bounds.begin(), about.bounds.end(),
                           [](double a, double b) { return !(a < b); }) == about.bounds.end();
    if (!rise || (!about.bounds.empty() && !std::isfinite(about.bounds.back()))) {
      broken(name, "has bounds that do not rise");
    }
  }
  std::set<std::string_view> seen;
  for (const auto& label : about.label_names) {
    const bool reserved =
        label.starts_with("__") || (label == "le" && about.type == Type::Histogram);
    if (!is_name(label) || reserved || !seen.insert(label).second) {
      broken(name, "has a wrong label name");
    }
  }
}

Family family_of(const Description& about) {
  Family family{about.name, {}, about.help, about.type, about.label_names, about.bounds, {}};
  if (about.type == Type::Counter) family.name.resize(family.name.size() - kTotal.size());
  family.unit = unit_of(family.name);
  return family;
}

class SeriesSet {
 public:
  SeriesSet(Description about, Counter* dropped)
      : about_(std::move(about)),
        openings_(label_openings(about_.label_names)),
        dropped_(dropped) {}

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
      found = series_.emplace(labels, Series{}).first;
      append_labels(found->second.text, openings_, labels);
      if (about_.type == Type::Histogram) found->second.buckets.resize(about_.bounds.size() + 1);
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

  // The same as append_text(collect()), from the texts that are kept.
  void render(std::string& out, TextFormat format) {
    const std::lock_guard lock(mutex_);
    if (series_.empty()) return;
    append_head(out, family_of(about_), about_.name, format);
    for (const auto* entry : sorted()) {
      const Series& series = entry->second;
      if (about_.type == Type::Histogram) {
        append_histogram(out, about_.bounds, about_.name, series.text, series.value,
                         series.buckets);
      } else {
        append_value(out, about_.name, series.text, series.value);
      }
    }
  }

  Family collect() {
    Family family = family_of(about_);
    const std::lock_guard lock(mutex_);
    family.points.reserve(series_.size());
    for (const auto* entry : sorted()) {
      family.points.push_back({entry->first, entry->second.value, entry->second.buckets});
    }
    return family;
  }

  const Description& about() const { return about_; }

 private:
  using Entry = std::pair<const Labels, Series>;

  // Kept between scrapes while no series comes or goes: pointers into an unordered_map stay valid. Values that differ
  // only in what is no UTF-8, or after the cut, look the same to a scraper: one of them is shown.
  const std::vector<const Entry*>& sorted() {
    if (sorted_.empty()) {
      sorted_.reserve(series_.size());
      for (const auto& entry : series_) sorted_.push_back(&entry);
      std::sort(sorted_.begin(), sorted_.end(),
                [](const Entry* a, const Entry* b) { return a->second.text < b->second.text; });
      const auto end = std::unique(
          sorted_.begin(), sorted_.end(),
          [](const Entry* a, const Entry* b) { return a->second.text == b->second.text; });
      sorted_.erase(end, sorted_.end());
    }
    return sorted_;
  }

  const Description about_;
  const std::vector<std::string> openings_;
  Counter* const dropped_;
  std::mutex mutex_;
  std::unordered_map<Labels, Series, LabelsHash> series_;
  std::vector<const Entry*> sorted_;
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
  SeriesSet family;
};

struct GaugeFamily final : Gauge {
  GaugeFamily(Description about, Counter* dropped) : family(std::move(about), dropped) {}
  void set(const Labels& labels, double value) override {
    family.update(labels, [&](Series& series) { series.value = value; });
  }
  void remove(const Labels& labels) override { family.remove(labels); }
  void clear() override { family.clear(); }
  SeriesSet family;
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
  SeriesSet family;
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
    families.emplace(name, std::shared_ptr<SeriesSet>(kind, &kind->family));
    return *kind;
  }

  std::vector<std::shared_ptr<SeriesSet>> all() {
    std::vector<std::shared_ptr<SeriesSet>> list;
    const std::lock_guard lock(mutex);
    list.reserve(families.size());
    for (const auto& [name, family] : families) list.push_back(family);
    return list;
  }

  // Not under the lock: a source may take its time.
  std::vector<Family> from_sources() {
    std::vector<std::function<std::vector<Family>()>> asked;
    {
      const std::lock_guard lock(mutex);
      asked = sources;
    }
    std::vector<Family> found;
    for (const auto& source : asked)
      for (auto& family : source())
        if (!family.points.empty()) found.push_back(std::move(family));
    return found;
  }

  std::vector<Family> collect() {
    std::vector<Family> collected;
    for (const auto& family : all()) {
      collected.push_back(family->collect());
      if (collected.back().points.empty()) collected.pop_back();
    }
    for (auto& family : from_sources()) collected.push_back(std::move(family));
    return collected;
  }

  std::string render(TextFormat format) {
    std::string out;
    out.reserve(last_size);
    for (const auto& family : all()) family->render(out, format);
    for (const auto& family : from_sources()) append_text(out, family, format);
    if (format == TextFormat::OpenMetrics) out += "# EOF\n";
    last_size = out.size() + out.size() / 8;
    return out;
  }

  std::mutex mutex;
  std::map<std::string, std::shared_ptr<SeriesSet>> families;  // by name: scrapes have one order
  std::set<std::string> names;
  std::vector<std::function<std::vector<Family>()>> sources;
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
  const bool plain = labels.empty();
  auto& family =
      state_->add<HistogramFamily>({std::move(name), std::move(help), Type::Histogram,
                                    std::move(labels), std::move(upper_bounds), max_series});
  if (plain) family.family.update({}, [](Series&) {});
  return family;
}

void Registry::add_source(std::function<std::vector<Family>()> source) {
  const std::lock_guard lock(state_->mutex);
  state_->sources.push_back(std::move(source));
}

std::vector<Family> Registry::collect() const { return state_->collect(); }
std::string Registry::text() const { return state_->render(TextFormat::Prometheus); }
std::string Registry::open_metrics() const { return state_->render(TextFormat::OpenMetrics); }

}  // namespace nobs::metrics
