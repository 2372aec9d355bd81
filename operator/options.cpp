#include "operator/options.h"

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <random>

#include "shared/base/strings.h"
#include "shared/config/options.h"

namespace nobs {
namespace {

// Unique for each process: two replicas must never take each other's lease for their own.
std::string default_identity() {
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  return std::string(host) + "_" +
         hex16(std::random_device{}() + (std::uint64_t{std::random_device{}()} << 32));
}

}  // namespace

LoadedOptions load_options(int argc, const char* const* argv) {
  using std::chrono::milliseconds;
  using std::chrono::minutes;
  LoadedOptions loaded;
  OperatorOptions& options = loaded.options;
  config::Binder binder(
      "neuron-observer-operator",
      "Taints and cordons nodes with unhealthy Neuron devices, and gives them back.");
  binder.text("kubeconfig", options.kubeconfig,
              "kubeconfig file; in a pod the service account is used");
  binder.text("context", options.context, "context of the kubeconfig; its current one where empty");
  binder
      .text("namespace", options.ns,
            "namespace of the Leases: the leader's and the agents' heartbeats")
      .env("POD_NAMESPACE");
  binder
      .text("identity", options.identity,
            "name of this replica in the leader Lease; must be unique")
      .env("POD_NAME");
  binder.duration("leader.lease_duration", options.lease_duration, "life of the leader Lease",
                  milliseconds(500), minutes(5));
  binder.duration("leader.renew_deadline", options.renew_deadline,
                  "a leader that cannot renew for this long stops acting", milliseconds(300),
                  minutes(5));
  binder.duration("leader.retry_period", options.retry_period, "time between two tries",
                  milliseconds(50), minutes(1));
  binder.text("listen.address", options.address, "numeric address of metrics and probes");
  binder.integer("listen.metrics_port", options.metrics_port, "port of /metrics; 0 is any free one",
                 0, 65535);
  binder.integer("listen.probe_port", options.probe_port,
                 "port of /healthz and /readyz; 0 is any free one", 0, 65535);
  binder.choice("log.level", options.log_level, "lines below this level are not written",
                {"debug", "info", "warn", "error"});
  binder.example("neuron-observer-operator --config /etc/neuron-observer/operator.yaml");
  binder.example("neuron-observer-operator --kubeconfig ~/.kube/config --log.level debug");
  auto result =
      binder.load(argc, argv, [](const char* name) -> const char* { return std::getenv(name); });
  if (options.renew_deadline >= options.lease_duration) {
    result.mistakes.emplace_back(
        "leader.renew_deadline: must be shorter than leader.lease_duration");
  }
  if (options.retry_period >= options.renew_deadline) {
    result.mistakes.emplace_back("leader.retry_period: must be shorter than leader.renew_deadline");
  }
  if (options.identity.empty()) options.identity = default_identity();
  loaded.exit_code = binder.report(result, std::cout, std::cerr);
  return loaded;
}

}  // namespace nobs
