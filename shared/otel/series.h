// Remembers what each series was at the last push: when it began, and for delta temporality what was counted already.
//
// For exporter.cpp. Not thread-safe.
//
// A series of the first collection began with the program; one that appears later began after the collection before it.
// A counter that fell has restarted after the collection before, at zero. With delta temporality the first collection
// only sets the base (its totals may be the driver's, counted long before us, and would be counted again by each of our
// restarts), so it holds no deltas.
//
//   Series series(Temporality::Delta, clock.now());
//   auto timed = series.advance(std::move(families), clock.now());
#pragma once

#include <unordered_map>
#include <vector>

#include "shared/base/clock.h"
#include "shared/metrics/family.h"
#include "shared/otel/encode.h"

namespace nobs::otel {

// OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE. LowMemory: histograms delta, counters cumulative, as it says for
// counters that are read (ours) and not reported increment by increment.
enum class Temporality { Cumulative, Delta, LowMemory };

class Series {
 public:
  Series(Temporality temporality, WallTime started) : temporality_(temporality), last_(started) {}

  std::vector<Timed> advance(std::vector<metrics::Family> families, WallTime now);
  size_t size() const { return seen_.size(); }

 private:
  struct Seen {
    WallTime start;
    double value = 0;
    std::vector<std::uint64_t> buckets;
    std::uint64_t round = 0;
  };
  bool is_delta(const metrics::Family& family) const;
  Timed advance_family(metrics::Family family);

  Temporality temporality_;
  WallTime last_;  // the collection before this one; at first the start of the program
  std::uint64_t round_ = 0;
  std::unordered_map<std::uint64_t, Seen> seen_;  // by a hash of name and labels
};

}  // namespace nobs::otel
