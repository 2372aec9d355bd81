#include "shared/runtime/request_metrics.h"

namespace nobs::runtime {

RequestMetrics::RequestMetrics(metrics::Registry& registry)
    : requests_(registry.counter("neuron_observer_api_requests_total",
                                 "Requests to the API server; code 0 had no answer.",
                                 {"verb", "resource", "code"})),
      durations_(registry.histogram("neuron_observer_api_request_duration_seconds",
                                    "Time from request to answer; watches are not in it.",
                                    {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30},
                                    {"verb"})) {}

kube::Client::OnFinished RequestMetrics::observer() {
  return [this](const kube::Finished& finished) {
    requests_.add({std::string(finished.verb), std::string(finished.resource),
                   std::to_string(finished.code)});
    if (finished.verb != "watch") {
      durations_.observe({std::string(finished.verb)},
                         std::chrono::duration<double>(finished.took).count());
    }
  };
}

}  // namespace nobs::runtime
