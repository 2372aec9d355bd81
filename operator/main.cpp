// neuron-observer-operator: one leader per cluster. Watches devices and nodes, quarantines and gives back.
#include <csignal>
#include <cstdlib>

#include "operator/act/policy_status.h"
#include "operator/act/reconciler.h"
#include "operator/options.h"
#include "operator/serve/routes.h"
#include "operator/watch/cache.h"
#include "shared/api/names.h"
#include "shared/base/stop.h"
#include "shared/runtime/leader.h"
#include "shared/runtime/lifecycle.h"
#include "shared/runtime/reflector.h"
#include "shared/runtime/request_metrics.h"

using namespace nobs;

int main(int argc, char** argv) {
  ignore_sigpipe();
  const StopOnSignals signals({SIGTERM, SIGINT});
  const auto loaded = load_options(argc, argv);
  if (loaded.exit_code) return *loaded.exit_code;
  const OperatorOptions& options = loaded.options;
  const auto millis = [](std::chrono::nanoseconds d) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(d);
  };

  SystemClock clock;
  const Random random = system_random();
  const log::Logger logger({.component = "operator", .level = log::parse_level(options.log_level)});
  metrics::Registry registry;
  runtime::RequestMetrics requests(registry);
  const auto config =
      kube::load_config({.kubeconfig = options.kubeconfig, .context = options.context},
                        [](const char* name) -> const char* { return std::getenv(name); });
  if (!config) {
    logger.error("no way to the API server is configured", {{"error", config.error().message}});
    return 4;
  }
  kube::Client client(*config, std::string(api::kOperator), clock, requests.observer());

  runtime::ReflectorMetrics watches(registry);
  runtime::WorkQueue queue(clock, random);
  watch::Cache cache(logger, [&](const std::string& node) { queue.add(node); });
  runtime::LeaderElector elector(client, clock, random, logger,
                                 {.ns = options.ns,
                                  .name = std::string(api::kLeaderLease),
                                  .identity = options.identity,
                                  .lease_duration = millis(options.lease_duration),
                                  .renew_deadline = millis(options.renew_deadline),
                                  .retry_period = millis(options.retry_period)},
                                 registry);
  act::Reconciler reconciler(client, cache, queue, clock, logger, registry, options.identity,
                             [&] { return elector.may_act(); });
  act::PolicyStatus policy_status(client, cache, reconciler, clock, logger);
  serve::ClusterMetrics cluster_metrics(registry, cache, clock);

  net::Server metrics_server(
      {.address = options.address, .port = static_cast<int>(options.metrics_port)},
      serve::metrics_routes(registry, [&] { cluster_metrics.count(); }));
  net::Server probe_server(
      {.address = options.address, .port = static_cast<int>(options.probe_port)},
      serve::probe_routes([] { return true; },
                          [&] { return !elector.is_leader() || cache.synced(); }));
  for (auto* server : {&metrics_server, &probe_server}) {
    if (const auto started = server->start(); !started) {
      logger.error("cannot serve HTTP", {{"error", started.error().message}});
      return 1;
    }
  }
  logger.info("operator started", {{"identity", options.identity},
                                   {"metrics_port", std::to_string(metrics_server.port())},
                                   {"probe_port", std::to_string(probe_server.port())}});

  // One term of leadership. A standby watches nothing: a second copy of every list costs the API server too.
  const auto lead = [&](const std::stop_token& leading) {
    cache.clear();
    queue.clear();
    const auto reflect = [&](const ResourceType& type, const std::string& ns,
                             runtime::ReflectorHandlers handlers) {
      return [&, type, ns, handlers = std::move(handlers)](const std::stop_token& stop) {
        runtime::Reflector(client, clock, random, logger, watches, {.type = type, .ns = ns},
                           handlers)
            .run(stop);
      };
    };
    runtime::run(
        {
            {"watch-nodes", reflect(api::kNodes, "", cache.node_handlers())},
            {"watch-devices", reflect(api::kNeuronDevices, "", cache.device_handlers())},
            {"watch-leases", reflect(api::kLeases, options.ns, cache.lease_handlers())},
            {"watch-policies", reflect(api::kPolicies, "", cache.policy_handlers())},
            {"reconcile", [&](const std::stop_token& stop) { reconciler.run(stop); }},
            {"policy-status", [&](const std::stop_token& stop) { policy_status.run(stop); }},
        },
        leading, std::chrono::seconds(10), logger);
  };
  return runtime::run(
      {{"leader-election", [&](const std::stop_token& stop) { elector.run(stop, lead); }}},
      signals.token(), std::chrono::seconds(15), logger);
}
