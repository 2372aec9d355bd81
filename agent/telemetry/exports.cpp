#include "agent/telemetry/exports.h"

#include <algorithm>
#include <array>
#include <optional>

#include "shared/base/strings.h"
#include "shared/config/options.h"

namespace nobs::telemetry {
namespace {

constexpr std::array kStrategies = {Strategy::Sum, Strategy::Avg, Strategy::Min,
                                    Strategy::Max, Strategy::P50, Strategy::P99};
// Where a metric may be rolled up to.
const std::map<Scope, std::vector<Scope>> kRollUps = {
    {Scope::Device, {Scope::Device, Scope::System}},
    {Scope::Core, {Scope::Core, Scope::Device, Scope::System}},
    {Scope::Vcpu, {Scope::Vcpu, Scope::System}},
    {Scope::Efa, {Scope::Efa, Scope::System}},
    {Scope::System, {Scope::System}},
};

// "sum, avg, min"
template <typename Values>
std::string names_of(const Values& values) {
  std::string names;
  for (const auto value : values) {
    if (!names.empty()) names += ", ";
    names += to_string(value);
  }
  return names;
}

std::string quoted_text(std::string_view text) { return '"' + printable(text, 80) + '"'; }

std::string hint(std::string_view name) {
  std::vector<std::string> known;
  for (const Metric& metric : metrics()) known.emplace_back(metric.name);
  const auto near = nearest(name, known);
  return near ? "; did you mean \"" + *near + "\"?" : "";
}

// OpenTelemetry's rule for instrument names, less '/' and '.', which Prometheus would turn into '_'.
bool is_stem(std::string_view name) {
  return !name.empty() && name.size() <= 120 && name[0] >= 'a' && name[0] <= 'z' &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

struct Parser {
  ParsedExports out;
  std::vector<const Metric*> listed;
  std::set<const Metric*> rolled_up;
  std::set<std::string> names;  // as Prometheus shows them

  void mistake(std::string text) { out.mistakes.push_back(std::move(text)); }
  void warn(std::string text) { out.warnings.push_back(std::move(text)); }

  void take_metrics(const json::Value& list) {
    if (!list.is_array()) {
      mistake("metrics: must be a list of metric names");
      return;
    }
    for (size_t i = 0; i < list.items().size(); ++i) {
      const std::string where = "metrics[" + std::to_string(i) + "]";
      const std::string* name = list.items()[i].if_string();
      if (name == nullptr) {
        mistake(where + ": must be a metric name");
        continue;
      }
      const Metric* metric = find_metric(*name);
      if (metric == nullptr) {
        warn(where + ": no metric " + quoted_text(*name) + " is known" + hint(*name));
      } else if (std::ranges::find(listed, metric) != listed.end()) {
        warn(where + ": " + *name + " is listed twice");
      } else {
        listed.push_back(metric);
      }
    }
  }

  static std::string prometheus_name_of(const Export& entry) {
    std::string name = entry.name;
    std::ranges::replace(name, '.', '_');
    return entry.is_counter() ? name + "_total" : name;
  }

  static std::string name_of(const Metric& metric, const std::string& stem,
                             std::optional<Strategy> strategy) {
    std::string name = "neuron." + std::string(to_string(metric.scope)) + "." + stem;
    return strategy ? name + "." + std::string(to_string(*strategy)) : name;
  }

  void add(Export entry, const std::string& stem, const std::string& where) {
    if (!names.insert(prometheus_name_of(entry)).second) {
      const std::string taken = prometheus_name_of(entry);
      entry.name =
          name_of(*entry.metric, stem + "_" + std::string(to_string(entry.scope)), entry.strategy);
      if (!names.insert(prometheus_name_of(entry)).second) {
        mistake(where + ": " + taken + " is exported already; give this entry an aggregated_name");
        return;
      }
      warn(where + ": " + taken + " is taken, exported as " + prometheus_name_of(entry) +
           "; an aggregated_name decides it");
    }
    out.exports.list.push_back(std::move(entry));
  }

  void take_aggregation(const json::Value& entry, const std::string& where) {
    if (!entry.is_object()) {
      mistake(where + ": must be a map with name, scope and strategy");
      return;
    }
    for (const auto& [key, value] : entry.members()) {
      if (key != "name" && key != "scope" && key != "strategy" && key != "aggregated_name")
        warn(where + ": " + quoted_text(key) +
             " is not known; known are name, scope, strategy, aggregated_name");
    }
    const std::string name = entry["name"].string_or("");
    const Metric* metric = find_metric(name);
    if (metric == nullptr) {
      if (name.empty()) {
        mistake(where + ".name: must be a metric name");
      } else {
        warn(where + ".name: no metric " + quoted_text(name) + " is known" + hint(name));
      }
      return;
    }
    const auto& allowed = kRollUps.at(metric->scope);
    const std::string scope_name = entry["scope"].string_or("");
    const auto scope = std::ranges::find_if(
        allowed, [&](Scope candidate) { return to_string(candidate) == scope_name; });
    if (scope == allowed.end()) {
      mistake(where + ".scope: " + quoted_text(scope_name) + " is none for " + name +
              "; accepted are " + names_of(allowed));
    }
    std::string stem = name;
    if (entry.contains("aggregated_name")) {
      stem = entry["aggregated_name"].string_or("");
      if (!is_stem(stem)) {
        mistake(where + ".aggregated_name: " + quoted_text(stem) +
                " is no name; accepted are a-z, 0-9 and _, a letter first");
        return;
      }
    }
    // One word or a list.
    std::vector<Strategy> strategies;
    const json::Value& given = entry["strategy"];
    const json::Array words = given.is_array() ? given.items() : json::Array{given};
    for (const json::Value& word : words) {
      const auto found = std::ranges::find_if(kStrategies, [&](Strategy candidate) {
        return to_string(candidate) == word.string_or("");
      });
      if (found == kStrategies.end()) {
        mistake(where + ".strategy: " + quoted_text(word.string_or("")) +
                " is none; accepted are " + names_of(kStrategies));
      } else if (std::ranges::find(strategies, *found) == strategies.end()) {
        strategies.push_back(*found);
      }
    }
    if (scope == allowed.end()) return;
    if (std::ranges::find(listed, metric) == listed.end()) {
      warn(where + ": " + name + " is not among metrics, so nothing of it is exported");
      return;
    }
    rolled_up.insert(metric);
    for (const Strategy strategy : strategies)
      add({metric, name_of(*metric, stem, strategy), false, strategy, *scope}, stem, where);
  }

  void take_info(const json::Value& map) {
    if (!map.is_object()) {
      mistake("info_metrics: must be a map of info metrics to lists of labels");
      return;
    }
    for (const auto& [name, labels] : map.members()) {
      const auto& known = info_labels(name);
      const std::string where = "info_metrics." + printable(name, 80);
      if (known.empty()) {
        warn(where + ": is not known; known are device_info, system_info");
        continue;
      }
      // A list of labels, or a map with one under `labels`.
      const json::Value& list = labels.is_object() ? labels["labels"] : labels;
      if (!list.is_array()) {
        mistake(where + ": must be a list of labels");
        continue;
      }
      auto& wanted = out.exports.info[name];
      for (const json::Value& label : list.items()) {
        const std::string text = label.string_or("");
        if (std::ranges::find(known, text) == known.end()) {
          warn(where + ": no label " + quoted_text(text) + " is known");
        } else if (std::ranges::find(wanted, text) == wanted.end()) {
          wanted.push_back(text);
        }
      }
    }
  }
};

}  // namespace

std::string_view to_string(Strategy strategy) {
  switch (strategy) {
    case Strategy::Sum:
      return "sum";
    case Strategy::Avg:
      return "avg";
    case Strategy::Min:
      return "min";
    case Strategy::Max:
      return "max";
    case Strategy::P50:
      return "p50";
    case Strategy::P99:
      return "p99";
  }
  return "";
}

std::set<std::string, std::less<>> Exports::driver_keys() const {
  std::set<std::string, std::less<>> keys;
  for (const Export& entry : list) {
    if (entry.metric->origin == Origin::Driver) keys.emplace(entry.metric->source);
    if (entry.metric->name == "utilization") keys.emplace("nc_time_in_use");
    if (entry.metric->name == "effective_flops") keys.emplace("flop_count");
  }
  return keys;
}

std::set<std::string, std::less<>> Exports::efa_counters() const {
  std::set<std::string, std::less<>> names;
  for (const Export& entry : list)
    if (entry.metric->scope == Scope::Efa) names.emplace(entry.metric->source);
  return names;
}

ParsedExports parse_exports(std::string_view yaml) {
  Parser parser;
  const auto document = config::parse_yaml(yaml);
  if (!document) {
    parser.mistake(document.error().message);
    return std::move(parser.out);
  }
  if (!document->is_object()) {
    parser.mistake("must be a map with metrics, aggregations and info_metrics");
    return std::move(parser.out);
  }
  for (const auto& [key, value] : document->members()) {
    if (key != "metrics" && key != "aggregations" && key != "info_metrics" && key != "scopes")
      parser.warn(quoted_text(key) +
                  " is not known; known are metrics, aggregations, info_metrics");
  }
  if (document->contains("metrics")) parser.take_metrics((*document)["metrics"]);

  // Native names first: they have no other. Which those are depends on the aggregations.
  std::set<std::string> aggregated;
  for (const json::Value& entry : (*document)["aggregations"].items())
    aggregated.insert(entry["name"].string_or(""));
  for (const Metric* metric : parser.listed) {
    if (!aggregated.contains(std::string(metric->name)))
      parser.add({metric, Parser::name_of(*metric, std::string(metric->name), {}), true},
                 std::string(metric->name), "metrics");
  }
  const json::Value& aggregations = (*document)["aggregations"];
  if (!aggregations.is_null() && !aggregations.is_array())
    parser.mistake("aggregations: must be a list");
  for (size_t i = 0; i < aggregations.items().size(); ++i)
    parser.take_aggregation(aggregations.items()[i], "aggregations[" + std::to_string(i) + "]");
  if (document->contains("info_metrics")) parser.take_info((*document)["info_metrics"]);
  return std::move(parser.out);
}

}  // namespace nobs::telemetry
