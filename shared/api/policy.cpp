#include "shared/api/policy.h"

#include <algorithm>
#include <array>

#include "shared/base/duration.h"
#include "shared/base/strings.h"

namespace nobs::api {
namespace {

// Collects what is wrong; the policy is then a dry run that says so.
struct Checker {
  std::vector<std::string> problems;

  void wrong(const std::string& field, const std::string& accepted) {
    problems.push_back(field + " must be " + accepted);
  }

  void number(const json::Value& value, const std::string& field, int& target) {
    if (value.is_null()) return;
    const auto number = value.if_int();
    if (!number || *number < 1 || *number > 100'000)
      return wrong(field, "a number from 1 to 100000");
    target = static_cast<int>(*number);
  }

  void duration(const json::Value& value, const std::string& field,
                std::chrono::nanoseconds& target) {
    if (value.is_null()) return;
    const auto duration = parse_duration(value.string_or(""));
    if (!duration || *duration < std::chrono::seconds(1))
      return wrong(field, "a duration of at least 1s");
    target = *duration;
  }
};

void parse_selector(const json::Value& selector, Policy& policy, Checker& check) {
  if (!selector.is_null() && !selector.is_object())
    check.wrong("spec.nodeSelector", "a label selector");
  for (const auto& [key, value] : selector["matchLabels"].members()) {
    policy.selector.push_back({key, LabelRequirement::Operator::In, {value.string_or("")}});
  }
  using Operator = LabelRequirement::Operator;
  constexpr std::array<std::pair<std::string_view, Operator>, 4> kOperators = {
      {{"In", Operator::In},
       {"NotIn", Operator::NotIn},
       {"Exists", Operator::Exists},
       {"DoesNotExist", Operator::DoesNotExist}}};
  for (const auto& expression : selector["matchExpressions"].items()) {
    LabelRequirement requirement{expression["key"].string_or(""), {}, {}};
    const std::string op = expression["operator"].string_or("");
    const auto* found = std::find_if(kOperators.begin(), kOperators.end(),
                                     [&](const auto& row) { return row.first == op; });
    if (found == kOperators.end() || requirement.key.empty()) {
      check.wrong("spec.nodeSelector.matchExpressions",
                  "a list of key and operator In, NotIn, Exists or DoesNotExist");
      continue;
    }
    requirement.op = found->second;
    for (const auto& value : expression["values"].items())
      requirement.values.push_back(value.string_or(""));
    policy.selector.push_back(std::move(requirement));
  }
}

void parse_max_unavailable(const json::Value& value, Policy& policy, Checker& check) {
  const auto* text = value.if_string();
  if (!text) return check.number(value, "spec.budget.maxUnavailable", policy.max_unavailable);
  const bool percent = text->ends_with('%');
  const auto number = parse_u64(percent ? std::string_view(*text).substr(0, text->size() - 1)
                                        : std::string_view(*text));
  if (!number || *number < 1 || *number > (percent ? 100 : 100'000)) {
    return check.wrong("spec.budget.maxUnavailable",
                       "a number from 1 to 100000 or a percentage from 1% to 100%");
  }
  policy.max_unavailable = static_cast<int>(*number);
  policy.max_unavailable_percent = percent;
}

}  // namespace

std::string_view to_string(Mode mode) {
  constexpr std::array<std::string_view, 3> kNames = {"Enforce", "DryRun", "Paused"};
  return kNames.at(static_cast<size_t>(mode));
}

Policy parse_policy(const json::Value& object) {
  Policy policy;
  Checker check;
  policy.name = object["metadata"]["name"].string_or("");
  policy.generation = object["metadata"]["generation"].int_or(0);
  const auto& spec = object["spec"];
  const std::string mode = spec["mode"].string_or("DryRun");
  if (mode == "Enforce") {
    policy.mode = Mode::Enforce;
  } else if (mode == "Paused") {
    policy.mode = Mode::Paused;
  } else if (mode != "DryRun") {
    check.wrong("spec.mode", "Enforce, DryRun or Paused");
  }
  parse_selector(spec["nodeSelector"], policy, check);
  const std::string effect = spec["taint"]["effect"].string_or("NoSchedule");
  if (effect == "NoSchedule" || effect == "PreferNoSchedule" || effect == "NoExecute") {
    policy.effect = effect;
  } else {
    check.wrong("spec.taint.effect", "NoSchedule, PreferNoSchedule or NoExecute");
  }
  policy.cordon = spec["cordon"].bool_or(true);
  const auto& budget = spec["budget"];
  parse_max_unavailable(budget["maxUnavailable"], policy, check);
  check.number(budget["maxPerHour"], "spec.budget.maxPerHour", policy.max_per_hour);
  for (const auto& label : budget["poolLabels"].items())
    policy.pool_labels.push_back(label.string_or(""));
  const auto& storm = spec["storm"];
  check.number(storm["nodes"], "spec.storm.nodes", policy.storm_nodes);
  check.duration(storm["window"], "spec.storm.window", policy.storm_window);
  check.duration(storm["cooldown"], "spec.storm.cooldown", policy.storm_cooldown);
  const auto& recovery = spec["recovery"];
  check.duration(recovery["quietTime"], "spec.recovery.quietTime", policy.quiet_time);
  check.number(recovery["repeatMultiplier"], "spec.recovery.repeatMultiplier",
               policy.repeat_multiplier);
  check.duration(recovery["maxQuietTime"], "spec.recovery.maxQuietTime", policy.max_quiet_time);
  // What a person asked for and this version does not do must not be skipped in silence.
  if (spec["evict"]["enabled"].bool_or(false))
    check.problems.emplace_back("spec.evict is not supported by this version");
  if (!recovery["validation"].is_null()) {
    check.problems.emplace_back("spec.recovery.validation is not supported by this version");
  }
  if (spec["unknown"]["action"].string_or("None") != "None") {
    check.problems.emplace_back("spec.unknown.action is not supported by this version");
  }
  if (!check.problems.empty() && policy.mode == Mode::Enforce) {
    policy.mode = Mode::DryRun;
    policy.not_enforced = join(check.problems, "; ");
  }
  return policy;
}

bool selects(const Policy& policy, const Labels& labels) {
  using Operator = LabelRequirement::Operator;
  return std::all_of(
      policy.selector.begin(), policy.selector.end(), [&](const LabelRequirement& wanted) {
        const auto found = labels.find(wanted.key);
        const bool present = found != labels.end();
        const bool listed = present && std::find(wanted.values.begin(), wanted.values.end(),
                                                 found->second) != wanted.values.end();
        switch (wanted.op) {
          case Operator::In:
            return listed;
          case Operator::NotIn:
            return !listed;
          case Operator::Exists:
            return present;
          case Operator::DoesNotExist:
            return !present;
        }
        return false;
      });
}

std::string pool_of(const Policy& policy, const Labels& labels) {
  std::string pool = policy.name;
  for (const auto& label : policy.pool_labels) {
    const auto found = labels.find(label);
    pool += "/" + (found == labels.end() ? std::string() : found->second);
  }
  return pool;
}

}  // namespace nobs::api
