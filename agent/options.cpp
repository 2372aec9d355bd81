#include "agent/options.h"

#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "agent/serve/api.h"
#include "agent/telemetry/exports_file.h"
#include "shared/api/names.h"
#include "shared/config/options.h"

namespace nobs {

LoadedOptions load_options(int argc, const char* const* argv) {
  using std::chrono::hours;
  using std::chrono::milliseconds;
  using std::chrono::minutes;
  using std::chrono::seconds;
  LoadedOptions loaded;
  AgentOptions& options = loaded.options;
  config::Binder binder(
      "neuron-observer-agent",
      "Reads the Neuron devices of this node, judges their health and publishes it to Kubernetes.");
  binder.text("node-name", options.node_name, "name of this node's Node object")
      .env("K8S_NODE_NAME");
  binder.text("namespace", options.ns, "namespace of the heartbeat Lease").env("POD_NAMESPACE");
  binder.text("kubeconfig", options.kubeconfig,
              "kubeconfig file; in a pod the service account is used");
  binder.text("context", options.context, "context of the kubeconfig; its current one where empty");
  binder.text("collection.sysfs_path", options.sysfs, "where the host's sysfs is mounted");
  binder.text("collection.proc_path", options.proc, "where the host's proc is mounted");
  binder.duration("collection.interval", options.interval, "time between two cycles",
                  milliseconds(20), minutes(1));
  binder.duration("collection.telemetry_interval", options.telemetry_interval,
                  "time between two readings of what only metrics need", milliseconds(100),
                  minutes(5));
  binder
      .integer("collection.logical_neuroncore_config", options.logical_core_size,
               "physical cores of a logical one; 0: 2 on Trn2 and Trn3, else 1", 0, 2)
      .env("NEURON_LOGICAL_NC_CONFIG");
  binder.duration("collection.read_deadline", options.read_deadline,
                  "a device that has not been read after this is unknown", milliseconds(100),
                  minutes(1));
  binder.duration("health.quiet_time", options.health.quiet_time,
                  "time without a sign after which a fault that can pass is over", seconds(1),
                  hours(24));
  binder.duration("health.unreachable_after", options.health.unreachable_after,
                  "time after which an unreachable device is faulty", seconds(1), hours(1));
  binder.duration("health.missing_after", options.health.missing_after,
                  "time after which a device that the driver does not show is faulty",
                  milliseconds(100), hours(1));
  binder.duration("heartbeat.interval", options.heartbeat_interval,
                  "time between two renewals of the heartbeat Lease", seconds(1), seconds(60));
  binder.text("daemon.listen_address", options.address,
              "numeric address of /healthz, /readyz, /metrics and /api; one that is not loopback "
              "asks for tokens on /api");
  binder.integer("daemon.port", options.port,
                 "port of /healthz, /readyz, /metrics and /api; 0 is any free one", 0, 65535);
  binder.text("daemon.socket", options.socket,
              "unix socket of the same for this node; empty: none");
  binder.text("export.metrics_config", options.exports_file,
              "file that says which metrics are exported (exports.yaml); empty: the built-in one");
  binder.choice("log.level", options.log_level, "lines below this level are not written",
                {"debug", "info", "warn", "error"});
  binder.example("neuron-observer-agent --config /etc/neuron-observer/agent.yaml");
  binder.example(
      "neuron-observer-agent --node-name ip-10-0-1-7 --kubeconfig ~/.kube/config --log.level "
      "debug");
  auto result =
      binder.load(argc, argv, [](const char* name) -> const char* { return std::getenv(name); });
  if (options.node_name.empty()) {
    result.mistakes.emplace_back(
        "node-name: is empty; set --node-name, node-name in the file or K8S_NODE_NAME");
  }
  if (!result.wants_help) {
    auto parsed = telemetry::load_exports(options.exports_file);
    const std::string file = options.exports_file + ": ";
    for (const auto& mistake : parsed.mistakes) result.mistakes.push_back(file + mistake);
    for (const auto& warning : parsed.warnings) result.warnings.push_back(file + warning);
    options.exports = std::move(parsed.exports);
    options.otel.version = serve::program_version();
    options.otel.resource = {{"service.name", std::string(api::kAgent)},
                             {"service.namespace", "neuron-observer"},
                             {"service.version", options.otel.version},
                             {"service.instance.id", options.node_name},
                             {"k8s.node.name", options.node_name}};
    for (auto& mistake : otel::apply_environment(options.otel, otel::process_environment()))
      result.mistakes.push_back(std::move(mistake));
  }
  loaded.exit_code = binder.report(result, std::cout, std::cerr);
  return loaded;
}

}  // namespace nobs
