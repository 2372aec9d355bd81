#include "agent/telemetry/exports.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace nobs::telemetry;

namespace {

std::vector<std::string> names(const Exports& exports) {
  std::vector<std::string> found;
  for (const auto& entry : exports.list) found.push_back(entry.name);
  return found;
}

bool has(const std::vector<std::string>& list, const std::string& text) {
  return std::ranges::find(list, text) != list.end();
}

bool mentions(const std::vector<std::string>& sentences, const std::string& text) {
  return std::ranges::any_of(sentences, [&](const std::string& sentence) {
    return sentence.find(text) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("the built-in file has no mistake and exports the contract's names") {
  const auto parsed = parse_exports(default_exports_yaml());
  CHECK(parsed.mistakes.empty());
  CHECK(parsed.warnings.empty());
  const auto all = names(parsed.exports);
  // The worked examples of the contract, section 5.4.
  for (const char* name : {"neuron.core.infer_completed.sum", "neuron.core.infer_completed.avg",
                           "neuron.device.mem_ecc_uncorrected.sum", "neuron.device.power_avg.avg",
                           "neuron.core.utilization.avg", "neuron.core.utilization_system.max",
                           "neuron.core.latency_device_system.p99",
                           "neuron.core.latency_device_p99", "neuron.efa.rx_bytes",
                           "neuron.system.memory_used_bytes", "neuron.vcpu.vcpu_user_percent.avg"})
    CHECK_MESSAGE(has(all, name), name);
  CHECK_FALSE(has(all, "neuron.core.infer_completed"));  // the roll-up replaces it
  CHECK(parsed.exports.info.at("device_info").size() == 9);
  CHECK(parsed.exports.info.at("system_info").size() == 12);
}

TEST_CASE("every metric of the contract is listed once in the built-in file") {
  const std::string yaml(default_exports_yaml());
  CHECK(metrics().size() == 134);
  for (const Metric& metric : metrics()) {
    const std::string line = "\n  - " + std::string(metric.name) + "\n";
    CHECK_MESSAGE(yaml.find(line) != std::string::npos, metric.name);
  }
}

TEST_CASE("what is not exported is not read") {
  const auto parsed = parse_exports("metrics: [utilization, power_avg, rx_bytes]");
  CHECK(parsed.exports.driver_keys() == std::set<std::string, std::less<>>{"nc_time_in_use"});
  CHECK(parsed.exports.efa_counters() == std::set<std::string, std::less<>>{"rx_bytes"});
}

TEST_CASE("all mistakes are told at once, each with what is accepted") {
  const auto parsed = parse_exports(R"(
metrics: [utilization, infer_completed, rx_bytes, 7]
aggregations:
  - {name: utilization, scope: node, strategy: [sum]}
  - {name: infer_completed, scope: system, strategy: [median]}
  - {name: rx_bytes, scope: core, strategy: [sum]}
  - {name: infer_completed, scope: core, strategy: [sum], aggregated_name: "x.y"}
  - nonsense
)");
  CHECK(parsed.mistakes.size() == 6);
  CHECK(mentions(parsed.mistakes,
                 "aggregations[0].scope: \"node\" is none for utilization; "
                 "accepted are core, device, system"));
  CHECK(mentions(parsed.mistakes,
                 "aggregations[1].strategy: \"median\" is none; accepted are "
                 "sum, avg, min, max, p50, p99"));
  CHECK(mentions(parsed.mistakes, "aggregations[2].scope"));
  CHECK(mentions(parsed.mistakes, "aggregations[3].aggregated_name"));
  CHECK(mentions(parsed.mistakes, "aggregations[4]"));
  CHECK(mentions(parsed.mistakes, "metrics[3]"));
}

TEST_CASE("names that another version may know are warnings, with the nearest known one") {
  const auto parsed = parse_exports(R"(
metrics: [utilisation, power_avg, power_avg]
scrapers: []
aggregations:
  - {name: rx_bytes, scope: system, strategy: sum}
info_metrics: {device_info: [serial_number, colour], pod_info: []}
)");
  CHECK(parsed.mistakes.empty());
  CHECK(mentions(parsed.warnings,
                 "metrics[0]: no metric \"utilisation\" is known; did you mean "
                 "\"utilization\"?"));
  CHECK(mentions(parsed.warnings, "power_avg is listed twice"));
  CHECK(mentions(parsed.warnings, "\"scrapers\" is not known"));
  CHECK(mentions(parsed.warnings, "rx_bytes is not among metrics"));
  CHECK(mentions(parsed.warnings, "no label \"colour\""));
  CHECK(mentions(parsed.warnings, "info_metrics.pod_info"));
  CHECK(names(parsed.exports) == std::vector<std::string>{"neuron.device.power_avg"});
}

TEST_CASE("a name that Prometheus would show twice is told apart by its scope") {
  // latency_device.p50 and latency_device_p50; utilization at two scopes.
  const auto parsed = parse_exports(R"(
metrics: [latency_device, latency_device_p50, utilization]
aggregations:
  - {name: latency_device, scope: system, strategy: [p50]}
  - {name: utilization, scope: core, strategy: [max]}
  - {name: utilization, scope: system, strategy: [max]}
)");
  CHECK(parsed.mistakes.empty());
  CHECK(parsed.warnings.size() == 2);
  const auto all = names(parsed.exports);
  CHECK(has(all, "neuron.core.latency_device_p50"));
  CHECK(has(all, "neuron.core.latency_device_system.p50"));
  CHECK(has(all, "neuron.core.utilization.max"));
  CHECK(has(all, "neuron.core.utilization_system.max"));
}

TEST_CASE("the same name at the same scope twice is a mistake") {
  const auto parsed = parse_exports(R"(
metrics: [utilization]
aggregations:
  - {name: utilization, scope: system, strategy: [max]}
  - {name: utilization, scope: system, strategy: [max]}
  - {name: utilization, scope: system, strategy: [max]}
)");
  CHECK(mentions(parsed.mistakes, "aggregations[2]: neuron_core_utilization_max is exported"));
}

TEST_CASE("text that is no export configuration is a mistake, not an empty configuration") {
  for (const char* text : {"", "[]", "metrics: 5", "a: [", "metrics: {}\naggregations: 1"})
    CHECK_MESSAGE(!parse_exports(text).mistakes.empty(), text);
}
