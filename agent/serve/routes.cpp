#include "agent/serve/routes.h"

namespace nobs::serve {
namespace {

net::Answer probe(bool good) { return {good ? 200 : 503, {}, {}}; }

}  // namespace

net::Handler routes(const metrics::Registry& registry, Probes probes, net::Handler api) {
  return [&registry, probes = std::move(probes),
          api = std::move(api)](const net::Request& request) -> net::Answer {
    const std::string path = request.target.substr(0, request.target.find('?'));
    if (api && path.starts_with("/api")) return api(request);
    if (path == "/healthz") return probe(probes.alive());
    if (path == "/readyz") return probe(probes.ready());
    if (path == "/metrics") {
      const auto* accept = request.headers.find("Accept");
      net::Answer answer;
      answer.status = 200;
      if (accept && accept->find("application/openmetrics-text") != std::string::npos) {
        answer.headers.set("Content-Type",
                           "application/openmetrics-text; version=1.0.0; charset=utf-8");
        answer.body = registry.open_metrics();
      } else {
        answer.headers.set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
        answer.body = registry.text();
      }
      return answer;
    }
    net::Answer missing{
        404,
        {},
        "not found; there are /healthz, /readyz, /metrics and /api/v1alpha1/openapi.json\n"};
    missing.headers.set("Content-Type", "text/plain; charset=utf-8");
    return missing;
  };
}

}  // namespace nobs::serve
