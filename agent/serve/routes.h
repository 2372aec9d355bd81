// What the agent answers over HTTP: /healthz, /readyz, /metrics, and the API below /api.
#pragma once

#include <functional>

#include "shared/metrics/registry.h"
#include "shared/net/server.h"

namespace nobs::serve {

struct Probes {
  std::function<bool()>
      alive;  // the main loop makes progress; never depends on devices or on the API server
  std::function<bool()> ready;  // the first cycle is over
};

// 200 with an empty body, or 503. /metrics is the text format, OpenMetrics where the Accept header asks for it. `api` gets
// every path that begins with /api; without one there is none.
net::Handler routes(const metrics::Registry& registry, Probes probes, net::Handler api = {});

}  // namespace nobs::serve
