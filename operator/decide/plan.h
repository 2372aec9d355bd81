// What to do about one node: a pure function of what is known. The rules of design section 7 are here and nowhere else.
//
// For the operator's reconciler. No I/O; thread-safe.
//
//   const Decision decision = plan(view, now);
//   if (decision.act != Act::Nothing) patch(build_patch(view, decision, now));
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/decide/budget.h"
#include "shared/api/lease.h"
#include "shared/api/neuron_device.h"
#include "shared/api/node.h"
#include "shared/api/policy.h"
#include "shared/base/clock.h"

namespace nobs::decide {

// Everything known about one node.
struct NodeView {
  api::Node node;
  std::vector<api::NeuronDevice> devices;  // of this node's name
  std::optional<api::Heartbeat> heartbeat;
  std::optional<api::Policy> policy;  // the one that selects the node; nothing: left alone
  bool budget_allows = false;         // for a new quarantine, asked before
  std::string budget_reason;          // why not
  std::string budget_message;
};

enum class Act {
  Nothing,
  Quarantine,  // taint, cordon where the policy says so, annotation
  Update,  // already quarantined by us: another reason or newer generation; the annotation and taint follow
  Release,   // recovered: remove what is ours
  Override,  // a person took the node back: remove our taint, remember the generation
};

struct Decision {
  Act act = Act::Nothing;
  // One word for logs, metrics, events and `explain`: why this act, or why nothing.
  std::string reason;
  std::string message;   // for people
  bool dry_run = false;  // the act is only reported
  api::Quarantine
      note;  // the annotation to write (Quarantine, Update, Override) or as it was (Release)
  bool uncordon = false;  // Release, Override: spec.unschedulable is ours, and nobody else's
  std::string effect;     // of the taint to set
  // When to look again although nothing changes: a quiet time or a heartbeat ends.
  std::optional<WallTime> again_at;
};

Decision plan(const NodeView& view, WallTime now);

// Our quarantine on this node, if the annotation proves one: right owner, right UID.
std::optional<api::Quarantine> own_quarantine(const api::Node& node);
bool has_own_taint(const api::Node& node);
// The verified fatal fault with the highest generation among the devices the agent of this very node reports.
const api::Fault* worst_fault(const NodeView& view, std::vector<int>* devices);
// The quiet time, longer after each repeat.
std::chrono::nanoseconds quiet_time(const api::Policy& policy, std::int64_t repeats);

}  // namespace nobs::decide
