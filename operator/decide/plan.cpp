#include "operator/decide/plan.h"

#include <algorithm>

#include "shared/api/names.h"
#include "shared/base/rfc3339.h"

namespace nobs::decide {
namespace {

using api::Fault;
using api::Health;
using api::Mode;
using api::NeuronDevice;
using api::Quarantine;

Decision nothing(std::string reason, std::string message) {
  Decision decision;
  decision.reason = std::move(reason);
  decision.message = std::move(message);
  return decision;
}

// A device counts when the agent of this very node reported it: same UID, or it is another machine's past.
bool is_of_this_node(const NeuronDevice& device, const api::Node& node) {
  return device.node_uid == node.uid;
}

bool agent_is_alive(const NodeView& view, WallTime now) {
  return view.heartbeat && view.heartbeat->node_uid == view.node.uid && view.heartbeat->alive(now);
}

// A quarantine or an override is for what was known when it began. Generations start again where all NeuronDevices were
// deleted (a new installation), so the time has a say too; a minute is more than clocks differ.
bool is_overridden(const Quarantine& past, const Fault& fault) {
  return past.overridden_generation >= fault.generation &&
         (past.lifted == WallTime{} || fault.first_seen <= past.lifted + std::chrono::minutes(1));
}

bool concerns(const Quarantine& ours, const NeuronDevice& device) {
  return std::find(ours.devices.begin(), ours.devices.end(), device.index) != ours.devices.end();
}

// I6: the devices we acted for are reported healthy, every one, and no other is unhealthy. A device that is not reported
// is not clear: somebody may have deleted its object.
bool all_clear(const NodeView& view, const Quarantine& ours, std::string* why_not) {
  size_t found = 0;
  for (const auto& device : view.devices) {
    if (!is_of_this_node(device, view.node)) continue;
    const bool ok = concerns(ours, device) ? device.has_status && device.health == Health::Healthy
                                           : device.health != Health::Unhealthy;
    if (!ok) {
      *why_not = device.name + " is " + std::string(to_string(device.health)) +
                 (device.reason.empty() ? std::string() : " (" + device.reason + ")");
      return false;
    }
    if (concerns(ours, device)) ++found;
  }
  if (found < ours.devices.size()) *why_not = "not every device of this quarantine is reported";
  return found >= ours.devices.size();
}

// When the last of those devices became healthy: what the quiet time counts from.
WallTime healthy_since(const NodeView& view, const Quarantine& ours) {
  WallTime since{};
  for (const auto& device : view.devices) {
    if (is_of_this_node(device, view.node) && concerns(ours, device))
      since = std::max(since, device.since);
  }
  return since;
}

// I2: only what we made unschedulable, and only while nobody else wants it to stay so.
bool cordon_is_ours_alone(const api::Node& node, const Quarantine& ours) {
  const bool ours_last =
      node.unschedulable_manager.empty() || node.unschedulable_manager == api::kOperator;
  return ours.cordoned && !ours.prior_unschedulable && node.unschedulable && !node.hold &&
         ours_last;
}

// Why a node stays unschedulable after our recovery; empty: it does not.
std::string why_still_cordoned(const api::Node& node, const Quarantine& ours) {
  if (!node.unschedulable) return {};
  if (node.hold) {
    return "annotation " + std::string(api::kHoldAnnotation) + " keeps the node out" +
           (node.hold->empty() ? std::string() : ": " + *node.hold);
  }
  if (ours.prior_unschedulable) return "it was cordoned before us and stays so";
  if (!ours.cordoned) return "it was cordoned by somebody else and stays so";
  return node.unschedulable_manager + " cordoned it too, so it stays cordoned";
}

Decision with_note(Act act, Quarantine note, std::string reason, std::string message) {
  Decision decision;
  decision.act = act;
  decision.note = std::move(note);
  decision.reason = std::move(reason);
  decision.message = std::move(message);
  return decision;
}

// Our taint is there and the annotation is lost or changed by hand: nothing proves what was before us, so nothing that
// could make the node schedulable is touched.
Decision plan_unproven(const NodeView& view) {
  return nothing("OwnershipUnproven",
                 "node " + view.node.name + " carries our taint and no valid annotation of ours; " +
                     "remove taint " + std::string(api::kTaintKey) + " by hand");
}

Decision release(const api::Node& node, const Quarantine& ours, WallTime now, const char* reason,
                 std::string message) {
  Quarantine note = ours;
  note.active = false;
  note.lifted = now;
  auto decision = with_note(Act::Release, std::move(note), reason, std::move(message));
  decision.uncordon = cordon_is_ours_alone(node, ours);
  if (const auto why = why_still_cordoned(node, ours); !decision.uncordon && !why.empty()) {
    decision.message += "; " + why;
  }
  return decision;
}

Decision plan_recovery(const NodeView& view, const Quarantine& ours, WallTime now) {
  std::string why_not;
  if (!all_clear(view, ours, &why_not)) return nothing("NotRecovered", why_not);
  if (!agent_is_alive(view, now)) {
    return nothing("AgentSilent",
                   "the agent of node " + view.node.name + " is silent: its devices are unknown");
  }
  // Without a policy the defaults give the node back: nobody is left who wanted it out.
  const api::Policy defaults;
  const api::Policy& policy = view.policy ? *view.policy : defaults;
  const auto quiet = quiet_time(policy, ours.repeats);
  const WallTime ready = std::max(healthy_since(view, ours), ours.since) + quiet;
  if (now < ready) {
    auto decision =
        nothing("QuietTime", "healthy; the quiet time ends at " + format_seconds(ready));
    decision.again_at = ready;
    return decision;
  }
  return release(view.node, ours, now, "Recovered",
                 "every device is healthy and the quiet time has passed");
}

Decision plan_quarantined(const NodeView& view, const Quarantine& ours, WallTime now) {
  const auto& node = view.node;
  if (view.policy && view.policy->mode == Mode::Paused) {
    // Not even an override is written: it is seen when the pause ends.
    return nothing("Paused", "policy " + view.policy->name + " is Paused");
  }
  if (node.ignored) {
    // A person wants us to keep off: give back what is ours, at once.
    return release(node, ours, now, "Ignored",
                   "label " + std::string(api::kIgnoreLabel) + " is set");
  }
  std::vector<int> devices;
  const Fault* worst = worst_fault(view, &devices);
  // I3: what was cordoned, by us or before us, is schedulable, or our taint is gone: a person took the node back, for this
  // generation.
  const bool uncordoned = (ours.cordoned || ours.prior_unschedulable) && !node.unschedulable;
  if (uncordoned || !has_own_taint(node)) {
    Quarantine note = ours;
    note.active = false;
    note.lifted = now;
    note.overridden_generation = ours.generation;
    auto decision =
        with_note(Act::Override, note, "Overridden",
                  std::string(uncordoned ? "the node was uncordoned" : "our taint was removed") +
                      " by hand; fault generation " + std::to_string(ours.generation) +
                      " is not acted on again");
    decision.uncordon = cordon_is_ours_alone(node, ours);
    return decision;
  }
  if (!worst) return plan_recovery(view, ours, now);
  if (worst->generation > ours.generation && agent_is_alive(view, now) && view.policy &&
      view.policy->mode == Mode::Enforce) {
    Quarantine note = ours;
    note.generation = worst->generation;
    // What it was for until now must be healthy too before the node is given back.
    for (const int device : devices) {
      if (std::find(note.devices.begin(), note.devices.end(), device) == note.devices.end())
        note.devices.push_back(device);
    }
    std::sort(note.devices.begin(), note.devices.end());
    note.reason = to_string(worst->fault);
    auto decision = with_note(Act::Update, note, "NewFault", worst->message);
    decision.effect = view.policy->effect;
    return decision;
  }
  return nothing("Quarantined", std::string(to_string(worst->fault)) + ": " + worst->message);
}

Decision plan_free(const NodeView& view, const std::optional<Quarantine>& past, WallTime now) {
  const auto& node = view.node;
  std::vector<int> devices;
  const Fault* worst = worst_fault(view, &devices);
  if (!worst) return nothing("NoFault", "no verified fatal fault is reported for this node");
  if (!agent_is_alive(view, now)) {
    return nothing("AgentSilent",
                   "the agent of node " + node.name + " is silent: its devices are unknown");
  }
  if (node.ignored)
    return nothing("Ignored", "label " + std::string(api::kIgnoreLabel) + " is set");
  if (!view.policy)
    return nothing("NoPolicy", "no NeuronQuarantinePolicy selects node " + node.name);
  if (view.policy->mode == Mode::Paused)
    return nothing("Paused", "policy " + view.policy->name + " is Paused");
  if (past && is_overridden(*past, *worst)) {
    return nothing("Overridden", "fault generation " + std::to_string(worst->generation) +
                                     " was overridden by hand");
  }
  if (node.deleting) return nothing("NodeDeleting", "the node is being deleted");
  const bool dry_run = view.policy->mode == Mode::DryRun;
  if (!dry_run && !view.budget_allows) {
    return nothing(view.budget_reason.empty() ? "BudgetUnavailable" : view.budget_reason,
                   view.budget_message + "; waiting: " + worst->message);
  }
  Quarantine note;
  note.owner = api::kOperator;
  note.node_uid = node.uid;
  note.since = std::chrono::floor<std::chrono::microseconds>(now);  // as the annotation can hold it
  note.generation = worst->generation;
  note.devices = devices;
  note.reason = to_string(worst->fault);
  note.prior_unschedulable = node.unschedulable;
  note.cordoned = view.policy->cordon && !node.unschedulable;
  note.policy = view.policy->name;
  for (const auto& device : view.devices) {
    if (is_of_this_node(device, node) && device.generation == worst->generation)
      note.traceparent = device.traceparent;
  }
  if (past) {
    note.repeats = past->repeats + 1;
    note.overridden_generation = past->overridden_generation;
    note.lifted = past->lifted;
  }
  auto decision =
      with_note(Act::Quarantine, note, std::string(to_string(worst->fault)), worst->message);
  decision.effect = view.policy->effect;
  decision.dry_run = dry_run;
  return decision;
}

}  // namespace

std::optional<Quarantine> own_quarantine(const api::Node& node) {
  if (!node.quarantine_text) return std::nullopt;
  auto parsed = api::parse_quarantine(*node.quarantine_text);
  if (!parsed || parsed->node_uid != node.uid) return std::nullopt;
  return std::move(*parsed);
}

bool has_own_taint(const api::Node& node) {
  return std::any_of(node.taints.begin(), node.taints.end(),
                     [](const api::Taint& taint) { return taint.key == api::kTaintKey; });
}

const Fault* worst_fault(const NodeView& view, std::vector<int>* devices) {
  const Fault* worst = nullptr;
  for (const auto& device : view.devices) {
    if (!is_of_this_node(device, view.node) || device.health != Health::Unhealthy) continue;
    bool faulty = false;
    for (const auto& fault : device.faults) {
      if (fault.severity != api::Severity::Fatal || !fault.verified) continue;
      faulty = true;
      if (!worst || fault.generation > worst->generation) worst = &fault;
    }
    if (faulty && devices) devices->push_back(device.index);
  }
  return worst;
}

std::chrono::nanoseconds quiet_time(const api::Policy& policy, std::int64_t repeats) {
  auto quiet = policy.quiet_time;
  if (policy.repeat_multiplier <= 1) return quiet;
  const auto longest = std::max(policy.quiet_time, policy.max_quiet_time);
  for (std::int64_t i = 0; i < repeats && quiet < longest; ++i) {
    // Compared before it is multiplied: ten years times a hundred do not fit.
    quiet = quiet > longest / policy.repeat_multiplier ? longest : quiet * policy.repeat_multiplier;
  }
  return quiet;
}

Decision plan(const NodeView& view, WallTime now) {
  const auto& node = view.node;
  const auto ours = own_quarantine(node);
  if (!ours && has_own_taint(node)) return plan_unproven(view);
  if (ours && ours->active) {
    auto decision = plan_quarantined(view, *ours, now);
    if (view.heartbeat && decision.act == Act::Nothing && !decision.again_at) {
      // A heartbeat that runs out changes the answer without an event; one that ran out does not do so again.
      const WallTime end =
          view.heartbeat->renewed + view.heartbeat->duration + std::chrono::seconds(1);
      if (end > now) decision.again_at = end;
    }
    return decision;
  }
  if (ours && has_own_taint(node)) return plan_unproven(view);
  return plan_free(view, ours, now);
}

}  // namespace nobs::decide
