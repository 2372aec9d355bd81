#include "shared/otel/series.h"

#include <utility>

#include "shared/base/strings.h"

namespace nobs::otel {
namespace {

using metrics::Family;
using metrics::Point;
using metrics::Type;

std::uint64_t key_of(const Family& family, const Point& point) {
  std::string text = family.name;
  for (const auto& label : point.labels) {
    text += '\0';
    text += label;
  }
  return fnv1a(text);
}

bool fell(const Point& point, double value, const std::vector<std::uint64_t>& buckets, Type type) {
  if (type == Type::Counter) return point.value < value;
  if (point.buckets.size() != buckets.size()) return true;
  for (size_t i = 0; i < buckets.size(); ++i) {
    if (point.buckets[i] < buckets[i]) return true;
  }
  return false;
}

}  // namespace

bool Series::is_delta(const Family& family) const {
  if (temporality_ == Temporality::LowMemory) return family.type == Type::Histogram;
  return temporality_ == Temporality::Delta;
}

Timed Series::advance_family(Family family) {
  Timed timed;
  timed.delta = is_delta(family);
  std::vector<Point> points;
  for (auto& point : family.points) {
    auto [found, is_new] = seen_.try_emplace(key_of(family, point));
    Seen& seen = found->second;
    if (!is_new && seen.round == round_) continue;  // there twice
    const Point total = point;
    if (is_new || fell(point, seen.value, seen.buckets, family.type)) {
      seen.start = last_;
    } else if (timed.delta) {
      seen.start = last_;
      point.value -= seen.value;
      for (size_t i = 0; i < point.buckets.size(); ++i) point.buckets[i] -= seen.buckets[i];
    }
    seen.round = round_;
    seen.value = total.value;
    seen.buckets = total.buckets;
    if (timed.delta && round_ == 1) continue;
    timed.starts.push_back(seen.start);
    points.push_back(std::move(point));
  }
  family.points = std::move(points);
  timed.family = std::move(family);
  return timed;
}

std::vector<Timed> Series::advance(std::vector<Family> families, WallTime now) {
  ++round_;
  std::vector<Timed> timed;
  for (auto& family : families) {
    if (family.type == Type::Gauge) {
      timed.push_back({std::move(family), false, {}});
    } else {
      timed.push_back(advance_family(std::move(family)));
    }
  }
  std::erase_if(seen_, [&](const auto& entry) { return entry.second.round != round_; });
  last_ = now;
  return timed;
}

}  // namespace nobs::otel
