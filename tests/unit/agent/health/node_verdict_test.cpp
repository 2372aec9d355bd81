#include "agent/health/node_verdict.h"

#include "agent/health/rules.h"
#include "readings.h"

namespace nobs::health {

using test::Bench;
using namespace std::chrono_literals;

TEST_CASE("the node is False before it is Unknown, and True only when every device is healthy") {
  CHECK(node_verdict({}).status == "Unknown");
  CHECK(node_verdict({}).reason == "NoDevices");
  Bench bench;
  CHECK(node_verdict(bench.memory) ==
        NodeVerdict{"True", "AllHealthy", "all 16 devices are healthy"});
  bench.device(1).problem = sources::ReadProblem::Timeout;
  bench.cycle();
  CHECK(node_verdict(bench.memory) ==
        NodeVerdict{"Unknown", "ReadTimeout", "1 of 16 devices unknown: neuron1 ReadTimeout"});
  bench.device(7).ecc.sram_uncorrected = 1;
  bench.run(2s);
  CHECK(
      node_verdict(bench.memory) ==
      NodeVerdict{
          "False", "SRAMUncorrectable",
          "1 of 16 devices unhealthy, 1 unknown: neuron7 SRAMUncorrectable, neuron1 ReadTimeout"});
}

TEST_CASE("a node of many broken devices still has a message that fits") {
  Memory memory;
  for (int index = 0; index < 64; ++index) {
    memory.slots[index].health = api::Health::Unhealthy;
    memory.slots[index].reason = "HBMUncorrectable";
  }
  CHECK(node_verdict(memory).message.size() <= 1024);
  CHECK(node_verdict(memory).message.starts_with("64 of 64 devices unhealthy: neuron0 "));
}

TEST_CASE("green on an old driver says that it looks at less") {
  const auto device = test::healthy_device(0);
  const auto now = capabilities(device, "2.30.2.0");
  const auto old = capabilities(device, "2.27.4.0");
  const auto has = [](const auto& list, const char* name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  CHECK(has(now, "hbm_ecc_repairable"));
  CHECK(has(now, "core_counters_live"));
  CHECK_FALSE(has(old, "hbm_ecc_repairable"));
  CHECK_FALSE(has(old, "core_counters_live"));
  CHECK(has(old, "hbm_ecc"));
  CHECK_FALSE(has(now, "heartbeat"));
  CHECK(capabilities({}, "").empty());
}

TEST_CASE("every row of the fault table has witnesses, an action and words for people") {
  for (const auto& rule : fault_rules()) {
    CAPTURE(to_string(rule.fault));
    CHECK(&rule_of(rule.fault) == &rule);
    CHECK_FALSE(rule.witnesses.empty());
    CHECK(rule.meaning.ends_with('.'));
    CHECK((rule.severity == api::Severity::Warning || rule.action != api::Action::None));
    for (const auto witness : rule.witnesses) CHECK_FALSE(describe(witness).empty());
  }
}

}  // namespace nobs::health
