#include "operator/act/policy_status.h"

#include <doctest/doctest.h>

#include "shared/base/rfc3339.h"

using namespace nobs;

namespace {

act::PolicyView view(api::Mode mode) {
  act::PolicyView made;
  made.policy.name = "default";
  made.policy.generation = 3;
  made.policy.mode = mode;
  made.nodes = 5;
  made.quarantined = 1;
  made.limit = 2;
  return made;
}

const WallTime kNow = *parse_rfc3339("2026-11-30T12:00:00Z");
const WallTime kLater = *parse_rfc3339("2026-11-30T13:00:00Z");

}  // namespace

TEST_CASE("the status counts, and the same state is the same object: nothing is written twice") {
  const auto status = act::policy_status(view(api::Mode::Enforce), {}, kNow);
  CHECK(status["nodes"] == 5);
  CHECK(status["budgetLimit"] == 2);
  CHECK(status["conditions"].items().at(0)["status"].string_or("") == "True");
  CHECK(act::policy_status(view(api::Mode::Enforce), status, kLater) == status);
}

TEST_CASE("a policy that cannot be enforced says why, loudly") {
  auto refused = view(api::Mode::DryRun);
  refused.policy.not_enforced = "spec.evict is not supported by this version";
  const auto status = act::policy_status(refused, {}, kNow);
  const auto& condition = status["conditions"].items().at(0);
  CHECK(condition["status"].string_or("") == "False");
  CHECK(condition["reason"].string_or("") == "NotEnforced");
  CHECK(condition["message"].string_or("").find("spec.evict") != std::string::npos);
}

TEST_CASE("the breaker's time moves when it opens") {
  const auto closed = act::policy_status(view(api::Mode::Enforce), {}, kNow);
  auto storm = view(api::Mode::Enforce);
  storm.breaker_reason = "too many";
  const auto open = act::policy_status(storm, closed, kLater);
  CHECK(open["breaker"]["open"] == true);
  CHECK(open["breaker"]["since"].string_or("") == "2026-11-30T13:00:00Z");
  CHECK(act::policy_status(storm, open, kNow)["breaker"]["since"].string_or("") ==
        "2026-11-30T13:00:00Z");
}
