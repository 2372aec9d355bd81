#include "operator/decide/budget.h"

#include <algorithm>
#include <set>

#include "shared/base/rfc3339.h"

namespace nobs::decide {

int budget_limit(const api::Policy& policy, int nodes) {
  if (!policy.max_unavailable_percent) return policy.max_unavailable;
  return std::max(1, nodes * policy.max_unavailable / 100);
}

std::optional<WallTime> breaker_open_until(const api::Policy& policy,
                                           const std::deque<Begun>& begun, WallTime now) {
  // Also keeps the loops below short when a policy lifts the limit and a thousand nodes fail at once.
  if (begun.size() < static_cast<size_t>(policy.storm_nodes)) return std::nullopt;
  // Newest first: the latest moment at which a window was full decides. One node that comes back again and again is no
  // storm; its quiet time grows instead.
  for (auto last = begun.rbegin(); last != begun.rend() && now - last->at < policy.storm_cooldown;
       ++last) {
    std::set<std::string> nodes;
    for (auto one = last; one != begun.rend() && last->at - one->at <= policy.storm_window; ++one)
      nodes.insert(one->node);
    if (nodes.size() >= static_cast<size_t>(policy.storm_nodes))
      return last->at + policy.storm_cooldown;
  }
  return std::nullopt;
}

BudgetAnswer may_quarantine(const api::Policy& policy, const PoolUse& use,
                            const std::deque<Begun>& begun, WallTime now) {
  const int limit = budget_limit(policy, use.nodes);
  if (use.unavailable >= limit) {
    return {false,
            "BudgetUnavailable",
            std::to_string(use.unavailable) + " of " + std::to_string(use.nodes) +
                " nodes of the pool are quarantined; policy " + policy.name + " allows " +
                std::to_string(limit),
            {}};
  }
  const auto hour_ago = now - std::chrono::hours(1);
  const auto recent =
      std::upper_bound(begun.begin(), begun.end(), hour_ago,
                       [](WallTime time, const Begun& one) { return time < one.at; });
  if (std::distance(recent, begun.end()) >= policy.max_per_hour) {
    return {false, "BudgetPerHour",
            "policy " + policy.name + " allows " + std::to_string(policy.max_per_hour) +
                " new quarantines an hour",
            recent->at + std::chrono::hours(1)};
  }
  if (const auto until = breaker_open_until(policy, begun, now)) {
    return {false, "StormBreaker",
            std::to_string(policy.storm_nodes) +
                " nodes were quarantined within a short time: the storm breaker of policy " +
                policy.name + " is open until " + format_seconds(*until),
            until};
  }
  return {true, {}, {}, {}};
}

void forget_old(std::deque<Begun>& begun, const api::Policy& policy, WallTime now) {
  const auto keep = std::max<std::chrono::nanoseconds>(std::chrono::hours(1),
                                                       policy.storm_cooldown + policy.storm_window);
  while (!begun.empty() && now - begun.front().at > keep) begun.pop_front();
}

}  // namespace nobs::decide
