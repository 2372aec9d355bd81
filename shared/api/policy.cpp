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

  void object(const json::Value& value, const std::string& field) {
    if (!value.is_null() && !value.is_object()) wrong(field, "an object");
  }

  // The items as strings; what is no list of strings counts as wrong, never as empty.
  std::vector<std::string> strings(const json::Value& value, const std::string& field) {
    std::vector<std::string> list;
    if (!value.is_null() && !value.is_array()) wrong(field, "a list of strings");
    for (const auto& item : value.items()) {
      if (!item.is_string()) wrong(field, "a list of strings");
      list.push_back(item.string_or(""));
    }
    return list;
  }

  std::string word(const json::Value& value, const std::string& field, std::string_view fallback) {
    if (!value.is_null() && !value.is_string()) wrong(field, "a string");
    return value.string_or(fallback);
  }

  bool boolean(const json::Value& value, const std::string& field, bool fallback) {
    if (!value.is_null() && !value.is_bool()) wrong(field, "true or false");
    return value.bool_or(fallback);
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
  // A selector that is not understood must not select every node.
  check.object(selector, "spec.nodeSelector");
  for (const auto& [key, value] : selector.members()) {
    if (key != "matchLabels" && key != "matchExpressions")
      check.wrong("spec.nodeSelector", "matchLabels and matchExpressions, nothing else");
  }
  check.object(selector["matchLabels"], "spec.nodeSelector.matchLabels");
  for (const auto& [key, value] : selector["matchLabels"].members()) {
    if (!value.is_string()) check.wrong("spec.nodeSelector.matchLabels", "a map of strings");
    policy.selector.push_back({key, LabelRequirement::Operator::In, {value.string_or("")}});
  }
  const auto& expressions = selector["matchExpressions"];
  if (!expressions.is_null() && !expressions.is_array())
    check.wrong("spec.nodeSelector.matchExpressions", "a list");
  using Operator = LabelRequirement::Operator;
  constexpr std::array<std::pair<std::string_view, Operator>, 4> kOperators = {
      {{"In", Operator::In},
       {"NotIn", Operator::NotIn},
       {"Exists", Operator::Exists},
       {"DoesNotExist", Operator::DoesNotExist}}};
  for (const auto& expression : expressions.items()) {
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
    requirement.values =
        check.strings(expression["values"], "spec.nodeSelector.matchExpressions.values");
    const bool lists = requirement.op == Operator::In || requirement.op == Operator::NotIn;
    if (lists == requirement.values.empty()) {
      check.wrong("spec.nodeSelector.matchExpressions.values",
                  "given for In and NotIn, and only for these");
    }
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
  for (const char* part : {"taint", "evict", "budget", "storm", "recovery", "unknown"})
    check.object(spec[part], std::string("spec.") + part);
  const std::string mode = check.word(spec["mode"], "spec.mode", "DryRun");
  if (mode == "Enforce") {
    policy.mode = Mode::Enforce;
  } else if (mode == "Paused") {
    policy.mode = Mode::Paused;
  } else if (mode != "DryRun") {
    check.wrong("spec.mode", "Enforce, DryRun or Paused");
  }
  parse_selector(spec["nodeSelector"], policy, check);
  const std::string effect = check.word(spec["taint"]["effect"], "spec.taint.effect", "NoSchedule");
  if (effect == "NoSchedule" || effect == "PreferNoSchedule" || effect == "NoExecute") {
    policy.effect = effect;
  } else {
    check.wrong("spec.taint.effect", "NoSchedule, PreferNoSchedule or NoExecute");
  }
  policy.cordon = check.boolean(spec["cordon"], "spec.cordon", true);
  const auto& budget = spec["budget"];
  parse_max_unavailable(budget["maxUnavailable"], policy, check);
  check.number(budget["maxPerHour"], "spec.budget.maxPerHour", policy.max_per_hour);
  policy.pool_labels = check.strings(budget["poolLabels"], "spec.budget.poolLabels");
  const auto& storm = spec["storm"];
  check.number(storm["nodes"], "spec.storm.nodes", policy.storm_nodes);
  check.duration(storm["window"], "spec.storm.window", policy.storm_window);
  check.duration(storm["cooldown"], "spec.storm.cooldown", policy.storm_cooldown);
  const auto& recovery = spec["recovery"];
  check.duration(recovery["quietTime"], "spec.recovery.quietTime", policy.quiet_time);
  check.number(recovery["repeatMultiplier"], "spec.recovery.repeatMultiplier",
               policy.repeat_multiplier);
  check.duration(recovery["maxQuietTime"], "spec.recovery.maxQuietTime", policy.max_quiet_time);
  if (policy.quiet_time > policy.max_quiet_time)
    check.wrong("spec.recovery.quietTime", "not longer than maxQuietTime");
  // What a person asked for and this version does not do must not be skipped in silence.
  if (check.boolean(spec["evict"]["enabled"], "spec.evict.enabled", false))
    check.problems.emplace_back("spec.evict is not supported by this version");
  if (!recovery["validation"].is_null()) {
    check.problems.emplace_back("spec.recovery.validation is not supported by this version");
  }
  if (check.word(spec["unknown"]["action"], "spec.unknown.action", "None") != "None") {
    check.problems.emplace_back("spec.unknown.action is not supported by this version");
  }
  if (!check.problems.empty() && mode != "DryRun" && mode != "Paused") {
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
