// The operator's options: defaults, then YAML, environment and flags.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace nobs {

struct OperatorOptions {
  std::string kubeconfig, context;
  std::string ns = "neuron-observer";
  std::string identity;  // empty: host name and a random part
  std::chrono::nanoseconds lease_duration = std::chrono::seconds(15);
  std::chrono::nanoseconds renew_deadline = std::chrono::seconds(10);
  std::chrono::nanoseconds retry_period = std::chrono::seconds(2);
  std::string address = "0.0.0.0";
  std::int64_t metrics_port = 8080;
  std::int64_t probe_port = 8081;
  std::string log_level = "info";
};

struct LoadedOptions {
  OperatorOptions options;
  std::optional<int> exit_code;  // end at once: help, configuration or mistakes were printed
};

LoadedOptions load_options(int argc, const char* const* argv);
}  // namespace nobs
