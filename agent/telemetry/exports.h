// exports.yaml: which metrics are exported, natively or rolled up, under which names.
//
// For the agent's options and telemetry. Pure. The format is Neuron Observer's (reference observer-contract.md, 4); a
// file written for it works here. What could be meant otherwise is a mistake; what a newer or older version may know is
// a warning. A name that Prometheus would show twice gets the suffix of its roll-up's scope, upstream's own convention.
//
//   const ParsedExports parsed = parse_exports(text);
//   for (const auto& mistake : parsed.mistakes) ...
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/telemetry/catalogue.h"

namespace nobs::telemetry {

enum class Strategy { Sum, Avg, Min, Max, P50, P99 };
std::string_view to_string(Strategy strategy);

// One family of series.
struct Export {
  const Metric* metric = nullptr;
  std::string name;       // OpenTelemetry's: "neuron.core.utilization_system.max"
  bool is_native = true;  // each entity of the metric's scope as it is
  Strategy strategy = Strategy::Sum;
  Scope scope = Scope::System;  // of the roll-up

  // A roll-up other than the sum of counters may fall.
  bool is_counter() const {
    return metric->is_counter() && (is_native || strategy == Strategy::Sum);
  }
};

struct Exports {
  std::vector<Export> list;
  std::map<std::string, std::vector<std::string>> info;  // by info metric: its labels

  // What has to be read for it: keys of the driver's files, names of EFA's.
  std::set<std::string, std::less<>> driver_keys() const;
  std::set<std::string, std::less<>> efa_counters() const;
};

struct ParsedExports {
  Exports exports;
  std::vector<std::string> mistakes, warnings;  // sentences: what, where, what is accepted
};

ParsedExports parse_exports(std::string_view yaml);

// The file that is built in: Neuron Observer's default, and per-core series that the owner of a workload needs.
std::string_view default_exports_yaml();

}  // namespace nobs::telemetry
