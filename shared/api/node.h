// A Node, reduced to what decisions need, and the operator's note on it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/result.h"
#include "shared/json/value.h"

namespace nobs::api {

// The annotation neuronobserver.io/quarantine (design 7.2): proof of what we changed, written in the same patch.
struct Quarantine {
  std::string owner;     // kOperator
  std::string node_uid;  // proof only for the node with this UID
  WallTime since{};
  std::int64_t generation = 0;  // highest fault generation that it is for
  std::vector<int> devices;
  std::string reason;  // fault class: the taint's value
  bool prior_unschedulable = false;
  bool cordoned = false;  // we set spec.unschedulable
  std::string policy;
  std::string traceparent;
  // Whether it is in force. False: lifted or overridden; kept so that repeats and overrides are remembered.
  bool active = true;
  std::int64_t overridden_generation = 0;  // a person took the node back at this generation
  std::int64_t repeats = 0;  // quarantines before this one, for the growing quiet time
  WallTime lifted{};         // when it last ended; zero: never

  bool operator==(const Quarantine&) const = default;
};

std::string dump_quarantine(const Quarantine& quarantine);
// Errors: not ours, or changed by hand.
Result<Quarantine> parse_quarantine(const std::string& text);

struct Taint {
  std::string key, value, effect;
  bool operator==(const Taint&) const = default;
};

struct Node {
  std::string name, uid, resource_version;
  std::map<std::string, std::string, std::less<>> labels;
  bool unschedulable = false;
  json::Value raw_unschedulable;  // as it is in the object, for a `test`
  // Who last changed spec.unschedulable, from managedFields; empty: not told.
  std::string unschedulable_manager;
  std::vector<Taint> taints;  // in their order: patches name an index
  json::Value raw_taints;     // as they are in the object: a `test` compares whole values
  bool has_annotations = false;
  std::optional<std::string> quarantine_text;  // the annotation as it is
  std::optional<std::string> hold;             // the annotation's value, possibly empty
  bool ignored = false;                        // label neuronobserver.io/ignore=true
  bool deleting = false;
  bool ready = false;
  bool has_neuron = false;  // its capacity names aws.amazon.com/neuron*

  bool operator==(const Node&) const = default;
};

Result<Node> parse_node(const json::Value& object);

}  // namespace nobs::api
