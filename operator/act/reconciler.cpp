#include "operator/act/reconciler.h"

#include <algorithm>

#include "shared/api/event.h"
#include "shared/api/names.h"

namespace nobs::act {
namespace {

using decide::Act;
using decide::Decision;
using decide::NodeView;

// Everything is looked at again this often, whatever the watches said: a lost event costs at most this.
constexpr auto kResync = std::chrono::minutes(5);

struct Words {
  const char* log;    // constant messages that people search for
  const char* event;  // the Event's reason
  const char* type;
  const char* metric;
};

Words words_of(const Decision& decision) {
  switch (decision.act) {
    case Act::Quarantine:
      return decision.dry_run ? Words{"node would be quarantined", "WouldQuarantine", "Warning",
                                      "would_quarantine"}
                              : Words{"node quarantined", "Quarantined", "Warning", "quarantine"};
    case Act::Update:
      return {"quarantine updated", "QuarantineUpdated", "Warning", "update"};
    case Act::Release:
      return {"quarantine lifted", "QuarantineLifted", "Normal", "release"};
    case Act::Override:
      return {"quarantine overridden", "QuarantineOverridden", "Warning", "override"};
    case Act::Nothing:
      break;
  }
  return {"node left alone", "QuarantineBlocked", "Warning", "nothing"};
}

// Decisions to do nothing that a person would want to hear about: a fault that nobody acts on.
bool is_worth_telling(const Decision& decision) {
  return decision.reason.starts_with("Budget") || decision.reason == "StormBreaker" ||
         decision.reason == "AgentSilent" || decision.reason == "OwnershipUnproven";
}

}  // namespace

Reconciler::Reconciler(kube::Client& client, watch::Cache& cache, runtime::WorkQueue& queue,
                       Clock& clock, const log::Logger& logger, metrics::Registry& registry,
                       std::string identity, std::function<bool()> may_act)
    : client_(client),
      cache_(cache),
      queue_(queue),
      clock_(clock),
      logger_(logger),
      identity_(std::move(identity)),
      may_act_(std::move(may_act)),
      actions_(registry.counter("neuron_observer_operator_actions_total", "What was done to nodes.",
                                {"action"})),
      conflicts_(registry.counter("neuron_observer_operator_conflicts_total",
                                  "Patches refused because the node had changed; planned anew.")),
      failures_(registry.counter("neuron_observer_operator_failures_total",
                                 "Patches that failed and are tried again.")),
      delay_(registry.histogram(
          "neuron_observer_operator_quarantine_delay_seconds",
          "Time from the device's verdict (whole seconds) to the quarantined node.",
          {0.5, 1, 2, 5, 10, 30, 60, 300, 1800})) {
  for (const char* action : {"quarantine", "update", "release", "override", "would_quarantine"}) {
    actions_.add({action}, 0);
  }
}

void Reconciler::begin_term() {
  begun_ = cache_.begun();
  const std::lock_guard lock(mutex_);
  decisions_.clear();
}

void Reconciler::run(const std::stop_token& stop) {
  while (!cache_.synced()) {
    if (!clock_.wait_for(std::chrono::milliseconds(20), stop)) return;
  }
  begin_term();
  for (const auto& node : cache_.neuron_nodes()) queue_.add(node);
  while (const auto name = queue_.take(stop)) {
    if (work(*name, stop)) {
      queue_.forget(*name);
    } else {
      queue_.retry(*name);
    }
    queue_.done(*name);
  }
}

void Reconciler::ask_budget(NodeView& view, WallTime now, std::optional<WallTime>* again_at) {
  if (!view.policy) return;
  const std::string pool = api::pool_of(*view.policy, view.node.labels);
  auto& begun = begun_[pool];
  // One that began without our knowing: the answer to its patch was lost.
  const auto ours = decide::own_quarantine(view.node);
  if (ours) {
    const decide::Begun one{ours->since, view.node.name};
    if (std::find(begun.begin(), begun.end(), one) == begun.end()) {
      begun.insert(std::upper_bound(begun.begin(), begun.end(), one,
                                    [](const auto& a, const auto& b) { return a.at < b.at; }),
                   one);
    }
  }
  decide::forget_old(begun, *view.policy, now);
  const auto answer =
      decide::may_quarantine(*view.policy, cache_.pool_use(*view.policy, pool), begun, now);
  view.budget_allows = answer.allowed;
  view.budget_reason = answer.reason;
  view.budget_message = answer.message;
  *again_at = answer.again_at;
}

bool Reconciler::work(const std::string& name, const std::stop_token& stop) {
  auto view = cache_.view(name);
  if (!view) {
    const std::lock_guard lock(mutex_);
    decisions_.erase(name);
    return true;
  }
  const bool ours = view->node.quarantine_text.has_value() || decide::has_own_taint(view->node);
  if (view->devices.empty() && !ours) return true;  // no Neuron node, and nothing of ours on it
  const WallTime now = clock_.now();
  std::optional<WallTime> budget_again;
  ask_budget(*view, now, &budget_again);
  Decision decision = decide::plan(*view, now);
  if (decision.act != Act::Nothing && !decision.dry_run) {
    if (!may_act_()) return true;  // the next leader does it
    if (auto done = carry_out(*view, decision, stop); !done) {
      if (done.error().is_stopped()) return true;
      if (done.error().is_not_found()) return true;  // the Node is gone; the watch tells
      if (done.error().is_conflict()) {
        // Somebody changed the node since it was read: look at what is there, and plan again.
        conflicts_.add();
        if (auto fresh = client_.get(api::kNodes, "", name, stop)) cache_.learn_node(*fresh);
      } else {
        failures_.add();
        logger_.warn(
            "node patch failed",
            {{"node", name}, {"act", words_of(decision).metric}, {"error", done.error().message}});
        if (done.error().retry_after) {
          queue_.add_after(name, *done.error().retry_after);
          return true;
        }
      }
      return false;
    }
  }
  tell(*view, decision, stop);
  auto again = std::chrono::nanoseconds(kResync);
  for (const auto& at : {decision.again_at, budget_again}) {
    if (at)
      again = std::min(
          again, std::max(*at - now, std::chrono::nanoseconds(std::chrono::milliseconds(10))));
  }
  queue_.add_after(name, again);
  return true;
}

Result<void> Reconciler::carry_out(const NodeView& view, const Decision& decision,
                                   const std::stop_token& stop) {
  auto patched = client_.patch(
      api::kNodes, "", view.node.name,
      {.kind = kube::PatchKind::Json, .body = decide::build_patch(view.node, decision)}, stop);
  if (!patched) return patched.error();
  cache_.learn_node(*patched);
  if (decision.act == Act::Quarantine && view.policy) {
    begun_[api::pool_of(*view.policy, view.node.labels)].push_back(
        {decision.note.since, view.node.name});
    for (const auto& device : view.devices) {
      if (device.generation == decision.note.generation) {
        delay_.observe({}, std::chrono::duration<double>(clock_.now() - device.since).count());
        break;
      }
    }
  }
  if (decision.act == Act::Release || decision.act == Act::Override) {
    // A place in the budget is free.
    for (const auto& node : cache_.neuron_nodes()) queue_.add(node);
  }
  return {};
}

void Reconciler::tell(const NodeView& view, const Decision& decision, const std::stop_token& stop) {
  {
    const std::lock_guard lock(mutex_);
    auto& known = decisions_[view.node.name];
    const bool same = known.act == decision.act && known.reason == decision.reason &&
                      known.dry_run == decision.dry_run;
    // A quarantine that is dry is decided again and again, and told once.
    const bool once = decision.act == Act::Nothing || decision.dry_run;
    known = decision;
    if (once && same) return;
  }
  if (decision.act == Act::Nothing && !is_worth_telling(decision)) return;
  const Words words = words_of(decision);
  const char* reason = decision.act == Act::Nothing && decision.reason == "AgentSilent"
                           ? "AgentSilent"
                           : words.event;
  const log::Fields fields = {{"node", view.node.name},
                              {"reason", decision.reason},
                              {"generation", std::to_string(decision.note.generation)},
                              {"policy", view.policy ? view.policy->name : std::string()},
                              {"detail", decision.message}};
  if (words.type == std::string_view("Warning")) {
    logger_.warn(words.log, fields);
  } else {
    logger_.info(words.log, fields);
  }
  if (decision.act != Act::Nothing) actions_.add({words.metric});
  const auto event = api::event_object({.type = words.type,
                                        .reason = reason,
                                        .action = words.metric,
                                        .note = decision.reason + ": " + decision.message},
                                       api::kNodes, view.node.name, view.node.uid, api::kOperator,
                                       identity_, clock_.now());
  if (auto created = client_.create(api::kEvents, "default", event, stop);
      !created && !created.error().is_stopped()) {
    logger_.debug("event not written",
                  {{"node", view.node.name}, {"error", created.error().message}});
  }
}

std::map<std::string, Decision> Reconciler::decisions() const {
  const std::lock_guard lock(mutex_);
  return decisions_;
}

}  // namespace nobs::act
