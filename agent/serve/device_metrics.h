// The verdicts as metrics: what a scrape of this node shows about its devices.
//
// Called by the main loop after each cycle; the registry makes it safe against scrapes.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "agent/health/judge.h"
#include "agent/sources/reading.h"
#include "shared/metrics/registry.h"

namespace nobs::serve {

class DeviceMetrics {
 public:
  explicit DeviceMetrics(metrics::Registry& registry);

  void show(const health::Memory& memory, const sources::NodeReading& reading,
            const std::vector<health::Change>& changes);

 private:
  metrics::Gauge& health_;
  metrics::Counter& faults_;
  metrics::Counter& warnings_;
  metrics::Gauge& ecc_;
  metrics::Gauge& last_read_;
  metrics::Gauge& driver_;
  metrics::Counter& cycles_;
};

}  // namespace nobs::serve
