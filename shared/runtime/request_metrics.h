// Counts and times the requests a kube::Client makes: neuron_observer_api_requests_total and …_request_duration_seconds.
#pragma once

#include "shared/kube/client.h"
#include "shared/metrics/registry.h"

namespace nobs::runtime {

class RequestMetrics {
 public:
  explicit RequestMetrics(metrics::Registry& registry);

  // Outlived by this object.
  kube::Client::OnFinished observer();

 private:
  metrics::Counter& requests_;
  metrics::Histogram& durations_;
};

}  // namespace nobs::runtime
