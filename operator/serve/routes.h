// What the operator answers over HTTP: /metrics on one port, /healthz and /readyz on another.
#pragma once

#include <functional>

#include "operator/watch/cache.h"
#include "shared/base/clock.h"
#include "shared/metrics/registry.h"
#include "shared/net/server.h"

namespace nobs::serve {

// Gauges that are counted at each scrape: nodes, quarantined, devices by health, silent agents.
class ClusterMetrics {
 public:
  ClusterMetrics(metrics::Registry& registry, const watch::Cache& cache, Clock& clock);
  void count();

 private:
  const watch::Cache& cache_;
  Clock& clock_;
  metrics::Gauge& nodes_;
  metrics::Gauge& devices_;
};

net::Handler metrics_routes(const metrics::Registry& registry, std::function<void()> before_scrape);
// 200 with an empty body, or 503.
net::Handler probe_routes(std::function<bool()> alive, std::function<bool()> ready);

}  // namespace nobs::serve
