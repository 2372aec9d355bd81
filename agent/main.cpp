// neuron-observer-agent: one per node. Reads the Neuron driver, judges each device, publishes the verdicts.
#include <csignal>
#include <cstdlib>

#include "agent/cycle.h"
#include "agent/options.h"
#include "agent/publish/heartbeat.h"
#include "agent/publish/own_view.h"
#include "agent/publish/publisher.h"
#include "agent/serve/device_metrics.h"
#include "agent/serve/servers.h"
#include "agent/sources/collector.h"
#include "agent/telemetry/exports_file.h"
#include "agent/telemetry/telemetry.h"
#include "shared/api/names.h"
#include "shared/base/stop.h"
#include "shared/kube/client.h"
#include "shared/otel/exporter.h"
#include "shared/runtime/lifecycle.h"
#include "shared/runtime/request_metrics.h"

using namespace nobs;

int main(int argc, char** argv) {
  ignore_sigpipe();
  const StopOnSignals signals({SIGTERM, SIGINT});
  const auto loaded = load_options(argc, argv);
  if (loaded.exit_code) return *loaded.exit_code;
  const AgentOptions& options = loaded.options;

  SystemClock clock;
  const Random random = system_random();
  const log::Logger logger({.component = "agent", .level = log::parse_level(options.log_level)});
  metrics::Registry registry;
  runtime::RequestMetrics requests(registry);

  // Where the API server is must be known; whether it answers need not be.
  const auto config =
      kube::load_config({.kubeconfig = options.kubeconfig, .context = options.context},
                        [](const char* name) -> const char* { return std::getenv(name); });
  if (!config) {
    logger.error("no way to the API server is configured", {{"error", config.error().message}});
    return 4;
  }
  kube::Client client(*config, std::string(api::kAgent), clock, requests.observer());

  runtime::ReflectorMetrics watches(registry);
  publish::OwnView view(client, clock, random, logger, watches, options.node_name);
  publish::Publisher publisher(client, view, clock, random, logger, registry, options.node_name);
  publish::Heartbeat heartbeat(
      client, clock, random, logger, registry,
      {.ns = options.ns, .node = options.node_name, .interval = options.heartbeat_interval});
  sources::Collector collector(
      {.sysfs = options.sysfs, .proc = options.proc}, clock,
      {.deadline = std::chrono::duration_cast<std::chrono::milliseconds>(options.read_deadline),
       .telemetry_interval = options.telemetry_interval});
  telemetry::Telemetry telemetry({.sysfs = options.sysfs,
                                  .proc = options.proc,
                                  .interval = options.telemetry_interval,
                                  .deadline = options.read_deadline,
                                  .logical_core_size = options.logical_core_size},
                                 collector);
  telemetry.use(options.exports);
  registry.add_source([&] { return telemetry.families(); });
  telemetry::ExportsFile exports_file(options.exports_file, telemetry, registry, clock, logger);
  serve::DeviceMetrics device_metrics(registry);
  otel::Exporter exporter(
      options.otel, [&] { return registry.collect(); }, clock, logger, registry);
  serve::Board board(clock.now());
  Cycle cycle(options, collector, publisher, telemetry, device_metrics, board, clock, logger);

  serve::Servers server(
      {options.address, static_cast<int>(options.port), options.socket, options.node_name},
      registry,
      {.alive = [&] { return cycle.alive(); }, .ready = [&] { return cycle.first_cycle_done(); }},
      board, client, clock, logger, signals.token());
  if (const auto started = server.start(); !started) {
    logger.error("cannot serve HTTP", {{"error", started.error().message}});
    return 1;
  }
  logger.info("agent started",
              {{"node", options.node_name}, {"port", std::to_string(server.port())}});

  std::vector<runtime::Part> parts = {
      {"cycle", [&](const std::stop_token& stop) { cycle.run(stop); }},
      {"watch-node", [&](const std::stop_token& stop) { view.run_node(stop); }},
      {"watch-devices", [&](const std::stop_token& stop) { view.run_devices(stop); }},
      {"watch-exports", [&](const std::stop_token& stop) { exports_file.run(stop); }},
      {"publish", [&](const std::stop_token& stop) { publisher.run(stop); }},
      // Silent until what earlier agents found is part of what we say.
      {"heartbeat",
       [&](const std::stop_token& stop) {
         heartbeat.run(
             stop, [&] { return view.node_uid(); },
             [&] { return cycle.alive() && publisher.published_once(); });
       }},
  };
  if (options.otel.is_on())
    parts.push_back({"push-metrics", [&](const std::stop_token& stop) { exporter.run(stop); }});
  const int exit_code =
      runtime::run(std::move(parts), signals.token(), std::chrono::seconds(10), logger);
  logger.info("agent stopped", {{"exit_code", std::to_string(exit_code)}});
  return exit_code;
}
