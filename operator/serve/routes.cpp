#include "operator/serve/routes.h"

namespace nobs::serve {
namespace {

std::string path_of(const net::Request& request) {
  return request.target.substr(0, request.target.find('?'));
}

net::Answer not_found(const char* what) {
  net::Answer answer{404, {}, what};
  answer.headers.set("Content-Type", "text/plain; charset=utf-8");
  return answer;
}

}  // namespace

ClusterMetrics::ClusterMetrics(metrics::Registry& registry, const watch::Cache& cache, Clock& clock)
    : cache_(cache),
      clock_(clock),
      nodes_(registry.gauge("neuron_observer_operator_nodes",
                            "Nodes with Neuron devices: all of them, those we quarantined, those "
                            "whose agent is silent. "
                            "Only the leader counts.",
                            {"state"})),
      devices_(registry.gauge("neuron_observer_operator_devices",
                              "Neuron devices by health. Only the leader counts.", {"health"})) {}

void ClusterMetrics::count() {
  const auto counts = cache_.counts(clock_.now());
  nodes_.set({"known"}, counts.nodes);
  nodes_.set({"quarantined"}, counts.quarantined);
  nodes_.set({"silent"}, counts.silent);
  devices_.set({"healthy"}, counts.healthy);
  devices_.set({"unhealthy"}, counts.unhealthy);
  devices_.set({"unknown"}, counts.unknown);
}

net::Handler metrics_routes(const metrics::Registry& registry,
                            std::function<void()> before_scrape) {
  return [&registry,
          before_scrape = std::move(before_scrape)](const net::Request& request) -> net::Answer {
    if (path_of(request) != "/metrics") return not_found("not found; there is /metrics\n");
    before_scrape();
    net::Answer answer{200, {}, registry.text()};
    answer.headers.set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    return answer;
  };
}

net::Handler probe_routes(std::function<bool()> alive, std::function<bool()> ready) {
  return [alive = std::move(alive),
          ready = std::move(ready)](const net::Request& request) -> net::Answer {
    if (path_of(request) == "/healthz") return {alive() ? 200 : 503, {}, {}};
    if (path_of(request) == "/readyz") return {ready() ? 200 : 503, {}, {}};
    return not_found("not found; there are /healthz and /readyz\n");
  };
}

}  // namespace nobs::serve
