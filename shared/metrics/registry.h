// Metrics of the Prometheus data model: families of counters, gauges and histograms, and their text formats.
//
// For every part that counts something about itself, and for the device metrics. Families are made once, at start; a
// wrong or duplicate name is a broken invariant and aborts. Series come and go; a scrape shows only those that exist.
// Thread-safe. At most `max_series` series in a family: further ones are dropped and counted in
// neuron_observer_metrics_dropped_series_total{family}. Label values are cut to 1,024 bytes.
//
//   metrics::Registry registry;
//   auto& requests = registry.counter("neuron_observer_api_requests_total", "Requests to the API server.", {"verb"});
//   requests.add({"GET"});
//   std::string text = registry.text();
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shared/metrics/family.h"

namespace nobs::metrics {

using Labels = std::vector<std::string>;  // values, in the order of the family's label names

class Counter {
 public:
  virtual ~Counter() = default;
  virtual void add(const Labels& labels = {}, double amount = 1) = 0;
  virtual void set(const Labels& labels,
                   double total) = 0;  // for totals that are counted elsewhere
  virtual void remove(const Labels& labels) = 0;
};

class Gauge {
 public:
  virtual ~Gauge() = default;
  virtual void set(const Labels& labels, double value) = 0;
  void set(double value) { set({}, value); }
  virtual void remove(const Labels& labels) = 0;
  virtual void clear() = 0;  // a scrape may fall between this and the next set(): prefer remove()
};

class Histogram {
 public:
  virtual ~Histogram() = default;
  virtual void observe(const Labels& labels, double value) = 0;
};

class Registry {
 public:
  static constexpr size_t kDefaultMaxSeries = 10'000;

  Registry();
  ~Registry();

  Counter& counter(std::string name, std::string help, std::vector<std::string> labels = {},
                   size_t max_series = kDefaultMaxSeries);
  Gauge& gauge(std::string name, std::string help, std::vector<std::string> labels = {},
               size_t max_series = kDefaultMaxSeries);
  Histogram& histogram(std::string name, std::string help, std::vector<double> upper_bounds,
                       std::vector<std::string> labels = {}, size_t max_series = kDefaultMaxSeries);

  // Families that are counted elsewhere: asked for at each scrape and push, after ours. From any thread; before the first
  // scrape. The registry cannot see whether a name is taken.
  void add_source(std::function<std::vector<Family>()> source);

  // All families as values, by name, each with its points by label; those without points are left out.
  std::vector<Family> collect() const;
  // Text format 0.0.4; OpenMetrics 1.0 ends with "# EOF" and names counters without _total in TYPE and HELP.
  std::string text() const;
  std::string open_metrics() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nobs::metrics
