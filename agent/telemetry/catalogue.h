// Every metric of the Neuron Observer contract: name, scope, unit, and where its value comes from.
//
// For sampling, the export configuration and the generated docs/metrics.md. Pure table. Names are the contract's base
// names (reference observer-contract.md, 5.2); the exported name is neuron.<scope>.<name>[.<strategy>].
//
//   const Metric* metric = find_metric("utilization");
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace nobs::telemetry {

enum class Scope { Device, Core, Vcpu, Efa, System };
enum class Kind { Counter, Gauge };

// How a value is had.
enum class Origin {
  Driver,   // a file of the driver, by its key (agent/sources/layout.h)
  Derived,  // computed from what was read; the source says how
  Host,     // /proc
  Fabric,   // hw_counters of the EFA port
  Nowhere,  // only in the runtime's shared memory, behind /dev/neuron*, or behind hostPID: never exported
};

struct Metric {
  std::string_view name;
  Scope scope;
  Kind kind;
  std::string_view unit;  // UCUM
  Origin origin;
  std::string_view source;  // Driver: the key; Fabric: the file; else in words
  std::string_view help;

  bool is_counter() const { return kind == Kind::Counter; }
};

// In the order of the contract's list.
const std::vector<Metric>& metrics();
const Metric* find_metric(std::string_view name);  // null: not in the contract
// The metrics of one scope, in order; their positions are a metric's slot among the values of an entity.
const std::vector<const Metric*>& metrics_of(Scope scope);
size_t slot_of(const Metric& metric);

// Info metrics: a gauge of 1 whose labels carry the values.
const std::vector<std::string_view>& info_labels(std::string_view name);  // empty: no such metric

std::string_view to_string(Scope scope);  // "device", "core", …

}  // namespace nobs::telemetry
