#include "operator/act/policy_status.h"

#include "shared/api/names.h"
#include "shared/base/rfc3339.h"

namespace nobs::act {
namespace {

constexpr auto kInterval = std::chrono::seconds(5);
constexpr size_t kMaxNames = 100;  // of status.wouldQuarantine

json::Value condition(const PolicyView& view, const json::Value& current, WallTime now) {
  const auto& policy = view.policy;
  const bool enforced = policy.mode == api::Mode::Enforce;
  const char* status = enforced ? "True" : "False";
  std::string reason = enforced ? "Enforced" : std::string(to_string(policy.mode));
  std::string message = enforced ? "nodes with verified fatal faults are quarantined"
                                 : "no node is quarantined by this policy";
  if (!policy.not_enforced.empty()) {
    reason = "NotEnforced";
    message = "treated as DryRun: " + policy.not_enforced;
  }
  std::string since = format_seconds(now);
  for (const auto& known : current["conditions"].items()) {
    if (known["type"].string_or("") == "Enforced" && known["status"].string_or("") == status) {
      since = known["lastTransitionTime"].string_or(since);
    }
  }
  return json::object({{"type", "Enforced"},
                       {"status", status},
                       {"reason", reason},
                       {"message", message.substr(0, api::kMaxMessage)},
                       {"observedGeneration", policy.generation},
                       {"lastTransitionTime", since}});
}

}  // namespace

json::Value policy_status(const PolicyView& view, const json::Value& current, WallTime now) {
  json::Array would(view.would_quarantine.begin(), view.would_quarantine.end());
  const bool open = !view.breaker_reason.empty();
  const bool was_open = current["breaker"]["open"].bool_or(false);
  json::Value breaker = json::object(
      {{"open", open}, {"reason", open ? json::Value(view.breaker_reason) : json::Value()}});
  breaker["since"] = open == was_open && current["breaker"]["since"].is_string()
                         ? current["breaker"]["since"]
                         : json::Value(format_seconds(now));
  return json::object({{"observedGeneration", view.policy.generation},
                       {"nodes", view.nodes},
                       {"quarantined", view.quarantined},
                       {"budgetUsed", view.quarantined},
                       {"budgetLimit", view.limit},
                       {"wouldQuarantine", std::move(would)},
                       {"breaker", std::move(breaker)},
                       {"conditions", json::array({condition(view, current, now)})}});
}

PolicyStatus::PolicyStatus(kube::Client& client, watch::Cache& cache, const Reconciler& reconciler,
                           Clock& clock, const log::Logger& logger)
    : client_(client), cache_(cache), reconciler_(reconciler), clock_(clock), logger_(logger) {}

void PolicyStatus::run(const std::stop_token& stop) {
  written_.clear();
  while (!stop.stop_requested()) {
    if (cache_.synced()) {
      const auto decisions = reconciler_.decisions();
      for (auto& summary : cache_.policy_summaries()) {
        PolicyView view{summary.policy, summary.nodes, summary.quarantined, summary.limit, {}, {}};
        for (const auto& name : summary.names) {
          const auto found = decisions.find(name);
          if (found == decisions.end()) continue;
          if (found->second.dry_run && view.would_quarantine.size() < kMaxNames)
            view.would_quarantine.push_back(name);
          if (found->second.reason == "StormBreaker")
            view.breaker_reason = found->second.message.substr(0, 256);
        }
        write(view, stop);
      }
    }
    if (!clock_.wait_for(kInterval, stop)) return;
  }
}

void PolicyStatus::write(const PolicyView& view, const std::stop_token& stop) {
  const std::string& name = view.policy.name;
  auto known = written_.find(name);
  if (known == written_.end()) {
    auto object = client_.get(api::kPolicies, "", name, stop);
    if (!object) return;
    known = written_.emplace(name, (*object)["status"]).first;
  }
  const auto status = policy_status(view, known->second, clock_.now());
  if (status == known->second) return;
  auto written = client_.patch(api::kPolicies, "", name,
                               {.kind = kube::PatchKind::Merge,
                                .body = json::object({{"status", status}}),
                                .subresource = "status"},
                               stop);
  if (!written) {
    if (!written.error().is_stopped()) {
      logger_.warn("policy status not written",
                   {{"policy", name}, {"error", written.error().message}});
    }
    written_.erase(name);
    return;
  }
  known->second = status;
}

}  // namespace nobs::act
