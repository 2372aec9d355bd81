// How many nodes may be quarantined, and how fast: bounds new quarantines, never recovery. Pure.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "shared/api/policy.h"
#include "shared/base/clock.h"

namespace nobs::decide {

// What counts against one pool's budget.
struct PoolUse {
  int nodes = 0;        // live Neuron nodes of the pool
  int unavailable = 0;  // of these, quarantined by us
};

// When quarantines began, within the last hours: by pool, oldest first.
struct Begun {
  WallTime at{};
  std::string node;
  bool operator==(const Begun&) const = default;
};
using History = std::map<std::string, std::deque<Begun>>;

struct BudgetAnswer {
  bool allowed = false;
  std::string reason;  // "BudgetUnavailable", "BudgetPerHour", "StormBreaker"
  std::string message;
  std::optional<WallTime> again_at;  // when time alone may change the answer
};

BudgetAnswer may_quarantine(const api::Policy& policy, const PoolUse& use,
                            const std::deque<Begun>& begun, WallTime now);

// At least 1, for a pool of any size; a percentage is rounded down.
int budget_limit(const api::Policy& policy, int nodes);

// The storm breaker: open from the moment that `storm_nodes` different nodes were quarantined within `storm_window`, until
// `storm_cooldown` later. Nothing: closed. The time it closes otherwise.
std::optional<WallTime> breaker_open_until(const api::Policy& policy,
                                           const std::deque<Begun>& begun, WallTime now);

// Drops what no limit looks at any more.
void forget_old(std::deque<Begun>& begun, const api::Policy& policy, WallTime now);

}  // namespace nobs::decide
