#include "agent/serve/routes.h"

#include <doctest/doctest.h>

#include "agent/serve/device_metrics.h"

using namespace nobs;

namespace {

net::Request get(std::string target, std::string accept = "") {
  net::Request request;
  request.target = std::move(target);
  if (!accept.empty()) request.headers.set("Accept", std::move(accept));
  return request;
}

}  // namespace

TEST_CASE("probes answer 200 or 503 with an empty body") {
  metrics::Registry registry;
  bool alive = true;
  const auto handler =
      serve::routes(registry, {.alive = [&] { return alive; }, .ready = [] { return false; }});
  CHECK(handler(get("/healthz")).status == 200);
  CHECK(handler(get("/healthz?verbose")).body.empty());
  alive = false;
  CHECK(handler(get("/healthz")).status == 503);
  CHECK(handler(get("/readyz")).status == 503);
  CHECK(handler(get("/secret")).status == 404);
}

TEST_CASE("a scrape shows each device's state, and nothing of a part that is gone") {
  metrics::Registry registry;
  serve::DeviceMetrics shown(registry);
  const auto handler =
      serve::routes(registry, {.alive = [] { return true; }, .ready = [] { return true; }});
  health::Memory memory;
  memory.slots[2].serial = "aaaaaaaaaaaaaaaa";
  memory.slots[2].health = api::Health::Unhealthy;
  shown.show(
      memory, {},
      {{health::Change::Kind::FaultBegan, 2, {.severity = api::Severity::Fatal}, {}, {}, {}}});
  auto text = handler(get("/metrics")).body;
  CHECK(
      text.find("neuron_device_health{neuron_device_index=\"2\",serial=\"aaaaaaaaaaaaaaaa\",state="
                "\"unhealthy\"} 1\n") != std::string::npos);
  CHECK(
      text.find(
          "neuron_device_faults_total{neuron_device_index=\"2\",class=\"UnverifiedReport\"} 1\n") !=
      std::string::npos);
  memory.slots[2].serial = "bbbbbbbbbbbbbbbb";
  shown.show(memory, {}, {});
  text = handler(get("/metrics")).body;
  CHECK(text.find("aaaaaaaaaaaaaaaa") == std::string::npos);
  CHECK(text.find("bbbbbbbbbbbbbbbb") != std::string::npos);
}

TEST_CASE("OpenMetrics is answered to those who ask for it") {
  metrics::Registry registry;
  const auto handler =
      serve::routes(registry, {.alive = [] { return true; }, .ready = [] { return true; }});
  const auto answer =
      handler(get("/metrics", "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"));
  CHECK(answer.body.ends_with("# EOF\n"));
  CHECK(answer.headers.find("Content-Type")->starts_with("application/openmetrics-text"));
}
