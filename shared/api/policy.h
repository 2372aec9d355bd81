// The NeuronQuarantinePolicy: what the operator may do, to which nodes.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "shared/base/result.h"
#include "shared/json/value.h"

namespace nobs::api {

enum class Mode { Enforce, DryRun, Paused };
std::string_view to_string(Mode mode);

struct LabelRequirement {
  std::string key;
  enum class Operator { In, NotIn, Exists, DoesNotExist } op = Operator::Exists;
  std::vector<std::string> values;
  bool operator==(const LabelRequirement&) const = default;
};

struct Policy {
  std::string name;
  std::int64_t generation = 0;  // metadata.generation: what status.observedGeneration answers
  Mode mode = Mode::DryRun;
  std::string not_enforced;  // why an Enforce policy is treated as DryRun; empty: it is not
  std::vector<LabelRequirement> selector;
  std::string effect = "NoSchedule";
  bool cordon = true;
  int max_unavailable = 1;               // a number, or
  bool max_unavailable_percent = false;  // a percentage of the pool, at least one node
  int max_per_hour = 10;
  std::vector<std::string> pool_labels;
  int storm_nodes = 5;
  std::chrono::nanoseconds storm_window = std::chrono::minutes(10);
  std::chrono::nanoseconds storm_cooldown = std::chrono::minutes(30);
  std::chrono::nanoseconds quiet_time = std::chrono::minutes(10);
  int repeat_multiplier = 2;
  std::chrono::nanoseconds max_quiet_time = std::chrono::hours(24);

  bool operator==(const Policy&) const = default;
};

// Never fails: what cannot be understood, or is not supported, makes the policy a DryRun and says why (not_enforced).
Policy parse_policy(const json::Value& object);

using Labels = std::map<std::string, std::string, std::less<>>;
bool selects(const Policy& policy, const Labels& labels);
// The pool a node belongs to: the values of the policy's pool labels.
std::string pool_of(const Policy& policy, const Labels& labels);

}  // namespace nobs::api
