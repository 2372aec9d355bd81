// Both programs are killed at any moment: no step is lost, none is done twice.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>

#include "tests/scenarios/cluster.h"

using namespace nobs;
using namespace nobs::test;

namespace {

bool is_lease(const Seen& seen) { return seen.target.find("/leases/") != std::string::npos; }

// Which of its requests the operator is killed at; a Lease's are not counted.
enum class Which { Any, Writes };

// Kills the operator at its `n`th such request, before the API sees it or after it was done.
void kill_at(Cluster& cluster, Which which, int n, bool after, std::atomic<bool>& killed) {
  auto left = std::make_shared<std::atomic<int>>(n);
  killed = false;
  cluster.proxy().on_request(
      [&cluster, &killed, which, left, after](const Seen& seen, bool answered) {
        if (killed || answered != after || is_lease(seen)) return;
        if (seen.user_agent.find("operator") == std::string::npos) return;
        if (which == Which::Writes && seen.method == "GET") return;
        if ((*left)-- > 0) return;
        killed = true;
        cluster.operator_process("first").signal(9);
      });
}

// A killed leader's lease must run out before another leads: shorter here, since it happens so often.
const std::vector<std::string> kShortLease = {
    "--leader.lease_duration=1s", "--leader.renew_deadline=700ms", "--leader.retry_period=100ms"};

// The same node fails again and again here; its quiet time must not grow.
const json::Value kNoGrowth =
    json::object({{"recovery", json::object({{"quietTime", "1s"}, {"repeatMultiplier", 1}})}});

// One round: the node fails, an operator is killed at its nth request, a second one takes over; then the same for
// recovery. False when both had done everything before their nth request.
bool round(Cluster& cluster, Which which, int n, bool after) {
  auto& node = cluster.node("a");
  std::atomic<bool> killed = false;
  const auto part = [&](const auto& done) {
    kill_at(cluster, which, n, after, killed);
    cluster.start_operator("first", kShortLease);
    REQUIRE(cluster.eventually([&] { return killed || done(); }));
    const bool was_killed = killed;
    cluster.proxy().on_request({});
    cluster.operator_process("first").kill();
    cluster.start_operator("second", kShortLease);
    CHECK_MESSAGE(cluster.eventually(done), "killed at request ", n, after ? " after" : " before",
                  " it was done");
    cluster.operator_process("second").stop();
    return was_killed;
  };
  node.driver().hbm_uncorrectable(0);
  REQUIRE(cluster.eventually([&] { return node.device(0)->health == api::Health::Unhealthy; }));
  const bool first = part([&] { return node.is_quarantined(); });
  CHECK(node.node().taints.size() == 1);
  node.driver().replace_device(0);
  REQUIRE(cluster.eventually([&] { return node.all_healthy(); }));
  const bool second = part([&] { return !node.has_our_taint() && !node.is_unschedulable(); });
  return first || second;
}

}  // namespace

TEST_CASE("an operator killed while it lists and watches is followed by one that does the work") {
  Cluster cluster({});
  cluster.set_policy(kNoGrowth);
  for (const int n : {0, 5}) CHECK(round(cluster, Which::Any, n, false));
}

TEST_CASE("an operator killed before any of its writes is followed by one that finishes") {
  Cluster cluster({});
  cluster.set_policy(kNoGrowth);
  CHECK(round(cluster, Which::Writes, 0, false));
  for (int n = 1; n < 4; ++n) round(cluster, Which::Writes, n, false);
}

TEST_CASE(
    "an operator killed after any of its writes was done, unanswered, is followed by one that "
    "finishes") {
  Cluster cluster({});
  cluster.set_policy(kNoGrowth);
  CHECK(round(cluster, Which::Writes, 0, true));
  for (int n = 1; n < 4; ++n) round(cluster, Which::Writes, n, true);
}

TEST_CASE("of two operators one acts; when it dies the other takes over") {
  Cluster cluster({});
  auto& node = cluster.node("a");
  cluster.start_operator("one");
  cluster.start_operator("two");
  const auto leads = [&](const std::string& name) {
    const auto output = cluster.operator_process(name).output();
    return output.find("\"leading\"") != std::string::npos;
  };
  REQUIRE(cluster.eventually([&] { return leads("one") || leads("two"); }));
  const std::string leader = leads("one") ? "one" : "two";
  const std::string standby = leader == "one" ? "two" : "one";
  node.driver().hbm_uncorrectable(0);
  REQUIRE(cluster.eventually([&] { return node.is_quarantined(); }));
  const auto seen = cluster.proxy().seen();
  CHECK(std::count_if(seen.begin(), seen.end(), [](const Seen& one) {
          return one.method == "PATCH" && one.target.starts_with("/api/v1/nodes/a?") &&
                 one.user_agent.find("operator") != std::string::npos;
        }) == 1);
  CHECK_FALSE(leads(standby));

  cluster.operator_process(leader).kill();
  node.driver().replace_device(0);

  CHECK(cluster.eventually([&] { return !node.has_our_taint() && !node.is_unschedulable(); }));
  CHECK(leads(standby));
}

TEST_CASE(
    "an operator that is asked to stop gives the lease back, and the next one leads at once") {
  Cluster cluster({});
  auto& first = cluster.start_operator(
      "first", {"--leader.lease_duration=60s", "--leader.renew_deadline=30s"});
  REQUIRE(
      cluster.eventually([&] { return first.output().find("\"leading\"") != std::string::npos; }));
  CHECK(first.stop() == 0);
  auto& second = cluster.start_operator(
      "second", {"--leader.lease_duration=60s", "--leader.renew_deadline=30s"});
  CHECK(
      cluster.eventually([&] { return second.output().find("\"leading\"") != std::string::npos; }));
}

TEST_CASE("an agent killed at any of its writes is followed by one that publishes the fault once") {
  Cluster cluster({});
  auto& node = cluster.node("a");
  cluster.start_operator();
  cluster.set_policy(kNoGrowth);
  for (int n = 0; n < 6; ++n) {
    CAPTURE(n);
    std::atomic<int> left = n / 2;
    std::atomic<bool> killed = false;
    const bool after = n % 2 == 1;
    cluster.proxy().on_request([&](const Seen& seen, bool answered) {
      if (killed || answered != after || is_lease(seen) || seen.method == "GET") return;
      if (seen.user_agent.find("agent") == std::string::npos || left-- > 0) return;
      killed = true;
      node.agent().signal(9);
    });
    node.driver().hbm_uncorrectable(0);
    REQUIRE(cluster.eventually([&] { return killed || node.is_quarantined(); }));
    cluster.proxy().on_request({});
    node.kill_agent();
    node.start_agent();
    CHECK(cluster.eventually([&] { return node.is_quarantined(); }));
    CHECK(node.device(0)->faults.size() == 1);
    node.driver().replace_device(0);
    REQUIRE(cluster.eventually([&] { return !node.has_our_taint() && node.all_healthy(); }));
  }
}
