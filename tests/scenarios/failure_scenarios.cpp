// Restarts, lost answers, an API that is away or says no: the same end state.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/scenarios/cluster.h"

using namespace nobs;
using namespace nobs::test;

namespace {

void gives_back(Cluster& cluster, SimNode& node) {
  node.driver().replace_device(0);
  CHECK(cluster.eventually([&] { return !node.has_our_taint() && !node.is_unschedulable(); }));
}

}  // namespace

TEST_CASE("a restarted agent keeps the fault, its generation and since when") {
  Cluster cluster({});
  auto& node = cluster.node("a");
  cluster.start_operator();
  node.driver().hbm_uncorrectable(0);
  REQUIRE(cluster.eventually([&] { return node.is_quarantined(); }));
  const auto before = node.device(0);

  node.kill_agent();
  node.start_agent();

  CHECK(cluster.always(
      [&] {
        const auto now = node.device(0);
        return node.is_quarantined() && now && now->faults.size() == 1 &&
               now->generation == before->generation && now->since == before->since &&
               now->faults[0].first_seen == before->faults[0].first_seen;
      },
      std::chrono::seconds(3)));
  gives_back(cluster, node);
}

TEST_CASE("a fault that came while no agent ran is found by the next one") {
  Cluster cluster({});
  auto& node = cluster.node("a");
  cluster.start_operator();
  node.kill_agent();
  node.driver().dma_abort(0);
  node.start_agent();
  CHECK(cluster.eventually([&] { return node.is_quarantined(); }));
  CHECK(node.device(0)->reason == "DMAAbort");
}

TEST_CASE(
    "while the API is away the agent keeps judging, and what it found is published when it is "
    "back") {
  Cluster cluster({});
  auto& node = cluster.node("a");
  cluster.start_operator();
  cluster.proxy().cut("");
  node.driver().hbm_uncorrectable(0);
  REQUIRE(cluster.eventually(
      [&] { return node.agent().output().find("fault began") != std::string::npos; }));
  CHECK_FALSE(node.has_our_taint());

  cluster.proxy().restore();

  CHECK(cluster.eventually([&] { return node.is_quarantined(); }));
  gives_back(cluster, node);
}

TEST_CASE(
    "an API that is away when the agent starts does not keep it from judging, and no fault is "
    "lost") {
  Cluster cluster({});
  auto& node = cluster.node("a");
  node.driver().hbm_uncorrectable(0);
  REQUIRE(cluster.eventually([&] { return node.device(0)->health == api::Health::Unhealthy; }));
  const auto before = node.device(0);
  node.kill_agent();
  cluster.proxy().cut("");
  node.start_agent();
  node.driver().dma_abort(0);
  REQUIRE(cluster.eventually(
      [&] { return node.agent().output().find("DMAAbort") != std::string::npos; }));

  cluster.proxy().restore();

  REQUIRE(cluster.eventually([&] { return node.device(0)->faults.size() == 2; }));
  const auto now = node.device(0);
  CHECK(now->generation > before->generation);
  const auto old = std::find_if(now->faults.begin(), now->faults.end(), [](const auto& fault) {
    return fault.fault == api::FaultClass::HBMUncorrectable;
  });
  REQUIRE(old != now->faults.end());
  CHECK(old->generation == before->generation);
}

TEST_CASE("dropped watches, expired versions and refused connections delay, and lose nothing") {
  Cluster cluster({});
  auto& node = cluster.node("a");
  cluster.start_operator();
  REQUIRE(cluster.eventually([&] {
    return cluster.operator_process().output().find("\"leading\"") != std::string::npos;
  }));
  SUBCASE("dropped") { cluster.proxy().drop_watches(); }
  SUBCASE("expired") {
    cluster.proxy().inject({.what = Fault::Expire, .watch_only = true, .count = 6});
    cluster.proxy().drop_watches();
  }
  SUBCASE("expired while listing") {
    cluster.proxy().inject({.what = Fault::Expire, .method = "GET", .path = "limit=", .count = 3});
    cluster.proxy().inject({.what = Fault::Expire, .watch_only = true, .count = 6});
    cluster.proxy().drop_watches();
  }
  SUBCASE("refused") {
    cluster.proxy().inject({.what = Fault::Refuse, .count = 10});
    cluster.proxy().drop_watches();
  }
  node.driver().hbm_uncorrectable(0);
  CHECK(cluster.eventually([&] { return node.is_quarantined(); }));
  cluster.proxy().drop_watches();
  gives_back(cluster, node);
}

TEST_CASE(
    "a patch whose answer is lost, that conflicts, fails or must wait is done once in the end") {
  Cluster cluster({});
  auto& node = cluster.node("a");
  cluster.start_operator();
  Fault fault{.user_agent = "operator", .method = "PATCH", .path = "/nodes/a"};
  SUBCASE("lost answer") { fault.what = Fault::LoseAnswer; }
  SUBCASE("conflict") {
    fault.what = Fault::Status;
    fault.status = 409;
    fault.count = 3;
  }
  SUBCASE("server error") {
    fault.what = Fault::Status;
    fault.count = 3;
  }
  SUBCASE("too many requests") {
    fault.what = Fault::Status;
    fault.status = 429;
    fault.retry_after = 1;
    fault.count = 2;
  }
  cluster.proxy().inject(fault);
  node.driver().hbm_uncorrectable(0);
  REQUIRE(cluster.eventually([&] { return node.is_quarantined(); }));
  const auto since = node.note()->since;
  CHECK(cluster.always([&] { return node.is_quarantined() && node.note()->since == since; },
                       std::chrono::seconds(1)));
  CHECK(node.node().taints.size() == 1);
  cluster.proxy().clear();
  cluster.proxy().inject(fault);
  gives_back(cluster, node);
}

TEST_CASE("an agent whose writes are lost or refused publishes in the end") {
  Cluster cluster({});
  auto& node = cluster.node("a");
  cluster.start_operator();
  SUBCASE("lost answers") {
    cluster.proxy().inject(
        {.what = Fault::LoseAnswer, .user_agent = "agent", .method = "PATCH", .count = 3});
  }
  SUBCASE("server errors") {
    cluster.proxy().inject({.what = Fault::Status,
                            .user_agent = "agent",
                            .method = "PATCH",
                            .status = 503,
                            .count = 3});
  }
  node.driver().hbm_uncorrectable(0);
  CHECK(cluster.eventually([&] { return node.is_quarantined(); }));
}

TEST_CASE("by default one node is out at a time; the next one follows when there is room") {
  Cluster cluster({.nodes = {"a", "b"}});
  cluster.start_operator();
  cluster.node("a").driver().hbm_uncorrectable(0);
  REQUIRE(cluster.eventually([&] { return cluster.node("a").is_quarantined(); }));
  cluster.node("b").driver().hbm_uncorrectable(0);
  REQUIRE(cluster.eventually([&] {
    const auto reasons = cluster.event_reasons("b");
    return std::find(reasons.begin(), reasons.end(), "QuarantineBlocked") != reasons.end();
  }));
  CHECK(
      cluster.always([&] { return !cluster.node("b").has_our_taint(); }, std::chrono::seconds(1)));

  cluster.node("a").driver().replace_device(0);

  REQUIRE(cluster.eventually([&] { return !cluster.node("a").has_our_taint(); }));
  CHECK(cluster.eventually([&] { return cluster.node("b").is_quarantined(); }));
}

TEST_CASE("a driver that is gone makes devices unknown and quarantines nobody") {
  Cluster cluster({});
  auto& node = cluster.node("a");
  cluster.start_operator();
  node.driver().unload_driver();
  REQUIRE(cluster.eventually([&] { return node.device(0)->reason == "DriverNotLoaded"; }));
  CHECK(node.device(0)->health == api::Health::Unknown);
  CHECK(cluster.eventually([&] { return node.condition() == "Unknown"; }));
  CHECK(cluster.always([&] { return !node.has_our_taint() && !node.is_unschedulable(); },
                       std::chrono::seconds(2)));
  node.driver().load_driver();
  CHECK(cluster.eventually([&] { return node.all_healthy(); }));
}
