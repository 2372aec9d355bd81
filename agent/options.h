// The agent's options: defaults, then YAML, environment and flags.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "agent/health/judge.h"
#include "agent/telemetry/exports.h"
#include "shared/otel/options.h"

namespace nobs {

struct AgentOptions {
  std::string node_name;
  std::string ns = "neuron-observer";
  std::string kubeconfig, context;
  std::string sysfs = "/sys";
  std::string proc = "/proc";
  std::string address = "127.0.0.1";
  std::int64_t port = 7001;
  std::string socket = "/run/neuron-observer/agent.sock";
  std::chrono::nanoseconds interval = std::chrono::seconds(1);
  std::chrono::nanoseconds telemetry_interval = std::chrono::seconds(5);
  std::int64_t logical_core_size = 0;  // 0: as the device family has it by default
  std::string exports_file;            // empty: what is built in
  telemetry::Exports exports;          // as parsed from it
  otel::Options otel;                  // from the OTEL_* variables
  std::chrono::nanoseconds read_deadline = std::chrono::seconds(2);
  std::chrono::nanoseconds heartbeat_interval = std::chrono::seconds(30);
  health::Options health;
  std::string log_level = "info";
};

// What the program should do: run with the options, or end at once with an exit code (help, mistakes).
struct LoadedOptions {
  AgentOptions options;
  std::optional<int> exit_code;
};

// Prints help, configuration or every mistake itself. Exit code 3 is a mistake in the options.
LoadedOptions load_options(int argc, const char* const* argv);

}  // namespace nobs
