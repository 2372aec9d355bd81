#include "operator/decide/budget.h"

#include <doctest/doctest.h>

#include "view.h"

namespace nobs::decide {
namespace {

using test::enforce;
using test::kNow;
using namespace std::chrono_literals;

std::deque<Begun> times(std::initializer_list<std::chrono::nanoseconds> before_now) {
  std::deque<Begun> begun;
  for (const auto before : before_now)
    begun.push_back({kNow - before, "node-" + std::to_string(before.count())});
  return begun;
}

}  // namespace

TEST_CASE("by default one node at a time is in quarantine, whatever the size of the pool") {
  CHECK(may_quarantine(enforce(), {1000, 0}, {}, kNow).allowed);
  const auto answer = may_quarantine(enforce(), {1000, 1}, {}, kNow);
  CHECK_FALSE(answer.allowed);
  CHECK(answer.reason == "BudgetUnavailable");
  CHECK(answer.message.find("allows 1") != std::string::npos);
}

TEST_CASE("a percentage is rounded down, but a small pool still may have one node out") {
  api::Policy policy = enforce();
  policy.max_unavailable = 20;
  policy.max_unavailable_percent = true;
  CHECK(budget_limit(policy, 0) == 1);
  CHECK(budget_limit(policy, 3) == 1);
  CHECK(budget_limit(policy, 9) == 1);
  CHECK(budget_limit(policy, 10) == 2);
  CHECK(budget_limit(policy, 5000) == 1000);
  CHECK_FALSE(may_quarantine(policy, {10, 2}, {}, kNow).allowed);
}

TEST_CASE("the limit of an hour counts the last hour and says when it ends") {
  api::Policy policy = enforce();
  policy.max_unavailable = 100;
  policy.max_per_hour = 2;
  policy.storm_nodes = 50;
  CHECK(may_quarantine(policy, {100, 2}, times({3h, 60min, 20min}), kNow).allowed);
  const auto answer = may_quarantine(policy, {100, 2}, times({3h, 50min, 20min}), kNow);
  CHECK_FALSE(answer.allowed);
  CHECK(answer.reason == "BudgetPerHour");
  CHECK(answer.again_at == kNow + 10min);
  CHECK(may_quarantine(policy, {100, 2}, times({3h, 50min, 20min}), kNow + 10min).allowed);
}

TEST_CASE("the storm breaker opens on many quarantines in a window and closes by itself") {
  api::Policy policy = enforce();
  policy.max_unavailable = 100;
  policy.max_per_hour = 100;
  policy.storm_nodes = 3;  // within 10 minutes, for 30 minutes
  CHECK_FALSE(breaker_open_until(policy, times({}), kNow));
  CHECK_FALSE(breaker_open_until(policy, times({2min, 1min}), kNow));
  CHECK_FALSE(breaker_open_until(policy, times({12min, 2min, 1min}), kNow));
  CHECK(breaker_open_until(policy, times({11min, 2min, 1min}), kNow) == kNow + 29min);
  const auto answer = may_quarantine(policy, {100, 3}, times({11min, 2min, 1min}), kNow);
  CHECK_FALSE(answer.allowed);
  CHECK(answer.reason == "StormBreaker");
  CHECK(answer.again_at == kNow + 29min);
  CHECK(may_quarantine(policy, {100, 3}, times({11min, 2min, 1min}), kNow + 29min).allowed);
}

TEST_CASE("a later quarantine does not close an open breaker, and the newest full window decides") {
  api::Policy policy = enforce();
  policy.storm_nodes = 3;
  CHECK(breaker_open_until(policy, times({31min, 28min, 25min, 5min}), kNow) == kNow + 5min);
  CHECK(breaker_open_until(policy, times({28min, 25min, 24min, 20min}), kNow) == kNow + 10min);
}

TEST_CASE("what no limit looks at any more is forgotten, and nothing else") {
  api::Policy policy = enforce();
  auto begun = times({61min, 60min, 59min, 1min});
  forget_old(begun, policy, kNow);
  CHECK(begun == times({60min, 59min, 1min}));
  policy.storm_cooldown = 3h;
  auto longer = times({191min, 190min, 61min});
  forget_old(longer, policy, kNow);
  CHECK(longer == times({190min, 61min}));
}

TEST_CASE("one node that fails again and again is no storm") {
  api::Policy policy;
  std::deque<Begun> begun;
  for (int i = 0; i < 8; ++i) begun.push_back({kNow - std::chrono::seconds(80 - i), "a"});
  CHECK_FALSE(breaker_open_until(policy, begun, kNow).has_value());
  for (const char* name : {"b", "c", "d", "e"}) begun.push_back({kNow, name});
  CHECK(breaker_open_until(policy, begun, kNow).has_value());
}

}  // namespace nobs::decide
