#include "agent/nobs/views.h"

#include <doctest/doctest.h>

#include "agent/nobs/top_view.h"
#include "shared/base/rfc3339.h"
#include "shared/base/strings.h"
#include "tests/unit/agent/nobs/answers.h"

using namespace nobs;
using namespace nobs::cli;
using namespace nobs::cli::test;
using json::Value;

namespace {

View view(size_t width = 80, bool wide = false) {
  return {{width, false}, *parse_rfc3339("2026-11-30T14:00:02Z"), wide};
}

}  // namespace

TEST_CASE("the status is a few lines that say what is wrong") {
  CHECK(status_text(snapshot(), view()) ==
        R"(Node     node-a (trn2.48xlarge)
Health   unhealthy: 1 of 3 devices unhealthy, 1 unknown: neuron1 HBMUncorrectab…
Driver   2.30.2.0, layout A, live
Devices  3 of 16: 1 healthy, 1 unhealthy, 1 unknown
Read     2s ago
         neuron1 HBMUncorrectable since 30m, action ReplaceNode
           A memory bank returned wrong data that the device could not repair;
           results since then cannot be trusted.
         neuron2 ReadTimeout since -
           -
)");
}

TEST_CASE("the devices fit 80 columns; wide shows everything") {
  CHECK(devices_text(devices(), view()) ==
        R"(DEVICE   HEALTH     REASON            ACTION       FAULTS  ECC  SINCE
neuron0  healthy    -                 -            0       0    2h
neuron1  unhealthy  HBMUncorrectable  ReplaceNode  1       1    30m
neuron2  unknown    ReadTimeout       -            0       -    -
)");
  const auto wide = devices_text(devices(), view(80, true));
  for (const auto* part : {"CORRECTED", "00000000000000a1", "96.0G", "cannot be trusted."})
    CHECK(wide.find(part) != std::string::npos);
}

TEST_CASE("tables keep to the width of the page, whatever the names") {
  Value list = devices();
  Value odd = list["items"].items()[1];
  odd["reason"] = std::string(300, 'x');
  odd["recommendedAction"] = "RestartWorkload";
  list["items"].push_back(odd);
  for (const size_t width : {40U, 80U, 132U}) {
    for (const auto line : split(devices_text(list, view(width)), '\n'))
      CHECK(width_of(line) <= std::max<size_t>(width, 50));
  }
}

TEST_CASE("faults are a table, and none is a sentence") {
  CHECK(faults_text(faults(), view()) ==
        R"(DEVICE   CLASS             SEVERITY  ACTION       COUNT  FIRST  LAST
neuron1  HBMUncorrectable  Fatal     ReplaceNode  2      30m    62s
neuron1  CollectivesHang   Warning   -            -      -      -
)");
  CHECK(faults_text(faults(), view(80, true)).find("A,B") != std::string::npos);
  CHECK(faults_text(Value(), view()) == "no active faults or warnings\n");
}

TEST_CASE("an event is a line") {
  const auto event = *json::parse(
      R"({"id": 1, "at": "2026-11-30T14:00:00.5Z", "kind": "FaultBegan", "message": "neuron1: \u001b[2J"})");
  CHECK(event_line(event, view()) == "2026-11-30T14:00:00Z  FaultBegan  neuron1: \\x1b[2J\n");
}

TEST_CASE("an answer of another version, or nonsense, is shown as far as it goes") {
  for (const auto* text : {"{}", R"({"items": 5})", R"({"items": [5, {}, null]})",
                           R"({"devices": [[], {"health": 3}], "driver": "x", "health": []})"}) {
    const auto value = *json::parse(text);
    CHECK_FALSE(status_text(value, view()).empty());
    CHECK_FALSE(devices_text(value, view(80, true)).empty());
    CHECK_FALSE(faults_text(value, view(80, true)).empty());
    CHECK_FALSE(event_line(value, view()).empty());
    CHECK_FALSE(top_frame(value, value, view(), 24, "").empty());
    CHECK(health_code(value) == 2);
  }
}

TEST_CASE("exit codes: 1 for unhealthy, 2 for unknown, the worse counts") {
  CHECK(health_code(snapshot()) == 1);
  CHECK(health_code(devices()) == 1);
  CHECK(health_code(*json::parse(R"({"health": "healthy"})")) == 0);
  CHECK(health_code(*json::parse(R"({"items": [{"health": "healthy"}]})")) == 0);
  CHECK(health_code(*json::parse(R"({"items": [{"health": "healthy"}, {"health": "unknown"}]})")) ==
        2);
  CHECK(health_code(*json::parse(R"({"items": []})")) == 2);
  CHECK(faults_code(faults()) == 1);
  CHECK(faults_code(*json::parse(R"({"items": [{"severity": "Warning"}]})")) == 0);
}

TEST_CASE("top shows what is wrong first, and a character for each core") {
  Value later = snapshot();
  Value cores = later["devices"].items()[0]["cores"];
  json::Array devices = later["devices"].items();
  json::Array list = cores.items();
  list[0]["counters"]["success"] = 6;
  devices[0]["cores"] = list;
  later["devices"] = devices;
  CHECK(top_frame(later, snapshot(), view(), 24, "") ==
        R"(node-a  trn2.48xlarge  driver 2.30.2.0  14:00:00
unhealthy: 1 of 3 devices unhealthy, 1 unknown: neuron1 HBMUncorrectable, neuro…

DEVICE   HEALTH     REASON            POWER  MEMORY  CORES
neuron1  unhealthy  HBMUncorrectable  -      -       !
neuron2  unknown    ReadTimeout       -      -       -
neuron0  healthy    -                 12.5%  1.0G    *+.
cores: . free  + memory in use  * at work  ! hardware errors
)");
  const auto small = top_frame(later, Value(), view(30), 8, "no answer\x1b");
  CHECK(small.find("and 1 more devices") != std::string::npos);
  CHECK(small.find("no answer\\x1b") != std::string::npos);
  const auto lines = split(small, '\n');
  CHECK(lines.size() <= 8 + 1);
}
