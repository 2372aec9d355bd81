#include "shared/api/policy.h"

#include <doctest/doctest.h>

namespace nobs::api {
namespace {

using namespace std::chrono_literals;

Policy policy_of(const std::string& spec) {
  const auto object =
      json::parse(R"({"metadata":{"name":"p","generation":4},"spec":)" + spec + "}");
  REQUIRE(object);
  return parse_policy(*object);
}

}  // namespace

TEST_CASE("a whole policy is understood") {
  const auto policy = policy_of(R"({"mode":"Enforce","cordon":false,"taint":{"effect":"NoExecute"},
    "nodeSelector":{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"c","operator":"Exists"}]},
    "budget":{"maxUnavailable":"15%","maxPerHour":3,"poolLabels":["zone"]},
    "storm":{"nodes":7,"window":"5m","cooldown":"1h"},"evict":{"enabled":false},"unknown":{"action":"None"},
    "recovery":{"quietTime":"1m","repeatMultiplier":3,"maxQuietTime":"2h"}})");
  CHECK(policy.mode == Mode::Enforce);
  CHECK(policy.not_enforced.empty());
  CHECK(policy.name == "p");
  CHECK(policy.generation == 4);
  CHECK_FALSE(policy.cordon);
  CHECK(policy.effect == "NoExecute");
  CHECK(policy.selector.size() == 2);
  CHECK(policy.max_unavailable == 15);
  CHECK(policy.max_unavailable_percent);
  CHECK(policy.max_per_hour == 3);
  CHECK(policy.pool_labels == std::vector<std::string>{"zone"});
  CHECK(policy.storm_nodes == 7);
  CHECK(policy.storm_window == 5min);
  CHECK(policy.storm_cooldown == 1h);
  CHECK(policy.quiet_time == 1min);
  CHECK(policy.repeat_multiplier == 3);
  CHECK(policy.max_quiet_time == 2h);
}

TEST_CASE("an empty policy is a dry run that would take one node at a time, by taint and cordon") {
  for (const char* spec : {"{}", "null", "5"}) {
    Policy expected;
    expected.name = "p";
    expected.generation = 4;
    CHECK(policy_of(spec) == expected);
    CHECK(expected.mode == Mode::DryRun);
    CHECK(expected.max_unavailable == 1);
    CHECK_FALSE(expected.max_unavailable_percent);
    CHECK(expected.effect == "NoSchedule");
    CHECK(expected.cordon);
  }
  CHECK(policy_of(R"({"mode":"Enforce"})").mode == Mode::Enforce);
  CHECK(policy_of(R"({"mode":"Paused"})").mode == Mode::Paused);
  CHECK(policy_of(R"({"mode":"Enforce","budget":{"maxUnavailable":3}})").max_unavailable == 3);
}

TEST_CASE("nothing that is wrong or not supported is ever enforced, and the field is named") {
  const std::vector<std::pair<const char*, const char*>> rows = {
      {"spec.taint", R"("taint":"NoSchedule")"},
      {"spec.taint.effect", R"("taint":{"effect":"NoRun"})"},
      {"spec.taint.effect", R"("taint":{"effect":5})"},
      {"spec.cordon", R"("cordon":"false")"},
      {"spec.nodeSelector", R"("nodeSelector":"a=b")"},
      {"spec.nodeSelector", R"("nodeSelector":{"matchlabels":{"a":"b"}})"},
      {"spec.nodeSelector.matchLabels", R"("nodeSelector":{"matchLabels":["a"]})"},
      {"spec.nodeSelector.matchLabels", R"("nodeSelector":{"matchLabels":{"a":1}})"},
      {"spec.nodeSelector.matchExpressions", R"("nodeSelector":{"matchExpressions":{"key":"a"}})"},
      {"spec.nodeSelector.matchExpressions",
       R"("nodeSelector":{"matchExpressions":[{"operator":"Exists"}]})"},
      {"spec.nodeSelector.matchExpressions",
       R"("nodeSelector":{"matchExpressions":[{"key":"a","operator":"Gt"}]})"},
      {"matchExpressions.values",
       R"("nodeSelector":{"matchExpressions":[{"key":"a","operator":"NotIn"}]})"},
      {"matchExpressions.values",
       R"("nodeSelector":{"matchExpressions":[{"key":"a","operator":"Exists","values":["x"]}]})"},
      {"matchExpressions.values",
       R"("nodeSelector":{"matchExpressions":[{"key":"a","operator":"In","values":[1]}]})"},
      {"spec.budget", R"("budget":5)"},
      {"spec.budget.maxUnavailable", R"("budget":{"maxUnavailable":0})"},
      {"spec.budget.maxUnavailable", R"("budget":{"maxUnavailable":"0%"})"},
      {"spec.budget.maxUnavailable", R"("budget":{"maxUnavailable":"101%"})"},
      {"spec.budget.maxUnavailable", R"("budget":{"maxUnavailable":"-1"})"},
      {"spec.budget.maxUnavailable", R"("budget":{"maxUnavailable":"%"})"},
      {"spec.budget.maxUnavailable", R"("budget":{"maxUnavailable":1.5})"},
      {"spec.budget.maxUnavailable", R"("budget":{"maxUnavailable":[]})"},
      {"spec.budget.maxPerHour", R"("budget":{"maxPerHour":0})"},
      {"spec.budget.maxPerHour", R"("budget":{"maxPerHour":"3"})"},
      {"spec.budget.poolLabels", R"("budget":{"poolLabels":"zone"})"},
      {"spec.budget.poolLabels", R"("budget":{"poolLabels":[1]})"},
      {"spec.storm", R"("storm":[])"},
      {"spec.storm.nodes", R"("storm":{"nodes":100001})"},
      {"spec.storm.window", R"("storm":{"window":"0s"})"},
      {"spec.storm.cooldown", R"("storm":{"cooldown":30})"},
      {"spec.recovery.quietTime", R"("recovery":{"quietTime":"soon"})"},
      {"spec.recovery.quietTime", R"("recovery":{"quietTime":"3h","maxQuietTime":"2h"})"},
      {"spec.recovery.repeatMultiplier", R"("recovery":{"repeatMultiplier":0})"},
      {"spec.recovery.maxQuietTime", R"("recovery":{"maxQuietTime":"-1s"})"},
      {"spec.recovery.validation", R"("recovery":{"validation":{"jobTemplate":{}}})"},
      {"spec.evict", R"("evict":{"enabled":true})"},
      {"spec.evict", R"("evict":{"enabled":"yes"})"},
      {"spec.unknown.action", R"("unknown":{"action":"Quarantine"})"},
      {"spec.unknown.action", R"("unknown":{"action":1})"},
  };
  for (const auto& [field, text] : rows) {
    CAPTURE(text);
    const auto policy = policy_of(R"({"mode":"Enforce",)" + std::string(text) + "}");
    CHECK(policy.mode == Mode::DryRun);
    CHECK(policy.not_enforced.find(field) != std::string::npos);
  }
  for (const char* mode : {R"("enforce")", "5", "true", R"("")"}) {
    const auto policy = policy_of(R"({"mode":)" + std::string(mode) + "}");
    CHECK(policy.mode == Mode::DryRun);
  }
  CHECK(policy_of(R"({"mode":"enforce"})").not_enforced.find("spec.mode") != std::string::npos);
  CHECK(policy_of(R"({"mode":"Paused","cordon":5})").mode == Mode::Paused);
}

TEST_CASE("every mistake is listed, not only the first") {
  const auto text =
      policy_of(R"({"mode":"Enforce","cordon":1,"budget":{"maxPerHour":-1}})").not_enforced;
  CHECK(text.find("spec.cordon") != std::string::npos);
  CHECK(text.find("spec.budget.maxPerHour") != std::string::npos);
}

TEST_CASE("a selector selects as Kubernetes does") {
  const Labels labels = {{"zone", "a"}, {"gpu", ""}};
  const auto selected = [&](const std::string& selector) {
    return selects(policy_of(R"({"nodeSelector":)" + selector + "}"), labels);
  };
  CHECK(selected("{}"));
  CHECK(selected(R"({"matchLabels":{"zone":"a"}})"));
  CHECK_FALSE(selected(R"({"matchLabels":{"zone":"a","other":"x"}})"));
  const auto expression = [&](const char* key, const char* op, const char* values) {
    return selected(R"({"matchExpressions":[{"key":")" + std::string(key) + R"(","operator":")" +
                    op + R"(","values":)" + values + "}]}");
  };
  CHECK(expression("zone", "In", R"(["b","a"])"));
  CHECK_FALSE(expression("zone", "In", R"(["b"])"));
  CHECK_FALSE(expression("none", "In", R"([""])"));
  CHECK(expression("zone", "NotIn", R"(["b"])"));
  CHECK_FALSE(expression("zone", "NotIn", R"(["a"])"));
  CHECK(expression("none", "NotIn", R"(["a"])"));
  CHECK(expression("gpu", "Exists", "[]"));
  CHECK_FALSE(expression("none", "Exists", "[]"));
  CHECK(expression("none", "DoesNotExist", "[]"));
  CHECK_FALSE(expression("gpu", "DoesNotExist", "[]"));
}

TEST_CASE("pools are told apart by the policy's labels, a missing one included") {
  Policy policy;
  policy.name = "p";
  CHECK(pool_of(policy, {{"zone", "a"}}) == pool_of(policy, {}));
  policy.pool_labels = {"zone", "type"};
  CHECK(pool_of(policy, {{"zone", "a"}, {"type", "x"}}) == "p/a/x");
  CHECK(pool_of(policy, {{"zone", "a"}}) != pool_of(policy, {{"type", "a"}}));
}

}  // namespace nobs::api
