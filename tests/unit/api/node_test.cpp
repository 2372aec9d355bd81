#include "shared/api/node.h"

#include <doctest/doctest.h>

#include "shared/api/names.h"

namespace nobs::api {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kNow{std::chrono::seconds(1'796'040'000)};

Quarantine quarantine() {
  Quarantine note;
  note.owner = kOperator;
  note.node_uid = "uid-a";
  note.since = kNow + 5us;
  note.generation = 3;
  note.devices = {1, 15};
  note.reason = "DMAAbort";
  note.prior_unschedulable = true;
  note.policy = "default";
  note.traceparent = "00-1";
  note.overridden_generation = 2;
  note.repeats = 4;
  note.lifted = kNow - 1h;
  return note;
}

}  // namespace

TEST_CASE("the note on a node reads back as it was written") {
  auto note = quarantine();
  CHECK(*parse_quarantine(dump_quarantine(note)) == note);
  note.lifted = {};
  note.active = false;
  note.cordoned = true;
  note.devices = {};
  CHECK(*parse_quarantine(dump_quarantine(note)) == note);
}

TEST_CASE("a note without what proves it is no note") {
  const auto with = [](const char* field, const json::Value& value) {
    json::Value note = *json::parse(dump_quarantine(quarantine()));
    if (value.is_null()) {
      note.erase(field);
    } else {
      note[field] = value;
    }
    return parse_quarantine(json::dump(note));
  };
  for (const char* field :
       {"owner", "nodeUID", "since", "active", "cordoned", "priorUnschedulable"}) {
    CHECK_FALSE(with(field, {}));
    CHECK_FALSE(with(field, json::array({})));
  }
  CHECK_FALSE(with("owner", "kured"));
  CHECK_FALSE(with("cordoned", "true"));
  CHECK_FALSE(with("devices", json::array({})));
  for (const json::Value& index :
       {json::Value(-1), json::Value(256), json::Value("1"), json::Value(4'294'967'297)})
    CHECK_FALSE(with("devices", json::array({1, index})));
  CHECK_FALSE(parse_quarantine(""));
  CHECK_FALSE(parse_quarantine("[]"));
  CHECK_FALSE(parse_quarantine("{\"owner\":"));
  // What only says how long to wait is bounded, not refused.
  CHECK(with("repeats", 9'223'372'036'854'775'807)->repeats == 1'000'000);
  CHECK(with("repeats", -5)->repeats == 0);
  CHECK(with("generation", "x")->generation == 0);
}

TEST_CASE("a node is reduced to what decisions need") {
  const auto node =
      parse_node(*json::parse(R"({"metadata":{"name":"a","uid":"u","resourceVersion":"9",
    "labels":{"neuronobserver.io/ignore":"true","zone":"b"},"deletionTimestamp":"2026-11-30T00:00:00Z",
    "annotations":{"neuronobserver.io/hold":"","neuronobserver.io/quarantine":"text"},
    "managedFields":[{"manager":"kubectl","fieldsV1":{"f:spec":{"f:unschedulable":{}}}},
                     {"manager":"kubelet","fieldsV1":{"f:status":{}}}]},
    "spec":{"unschedulable":true,"taints":[{"key":"k","value":"v","effect":"NoExecute"}]},
    "status":{"capacity":{"aws.amazon.com/neuroncore":"8"},
              "conditions":[{"type":"MemoryPressure","status":"False"},{"type":"Ready","status":"True"}]}})"));
  REQUIRE(node);
  CHECK(node->ignored);
  CHECK(node->deleting);
  CHECK(node->hold == "");
  CHECK(node->quarantine_text == "text");
  CHECK(node->unschedulable);
  CHECK(node->unschedulable_manager == "kubectl");
  CHECK(node->taints == std::vector<Taint>{{"k", "v", "NoExecute"}});
  CHECK(node->ready);
  CHECK(node->has_neuron);
  CHECK(node->labels.at("zone") == "b");
}

TEST_CASE("a bare node has nothing, and one without a name or UID is an error") {
  const auto node = parse_node(*json::parse(R"({"metadata":{"name":"a","uid":"u",
    "labels":{"neuronobserver.io/ignore":"yes"}},"status":{"capacity":{"cpu":"8"}}})"));
  REQUIRE(node);
  CHECK_FALSE(node->ignored);
  CHECK_FALSE(node->deleting);
  CHECK_FALSE(node->hold);
  CHECK_FALSE(node->quarantine_text);
  CHECK_FALSE(node->has_annotations);
  CHECK_FALSE(node->unschedulable);
  CHECK(node->raw_taints.is_null());
  CHECK_FALSE(node->ready);
  CHECK_FALSE(node->has_neuron);
  for (const char* text :
       {"{}", R"({"metadata":{"name":"a"}})", R"({"metadata":{"uid":"u"}})", "[]"})
    CHECK_FALSE(parse_node(*json::parse(text)));
}

}  // namespace nobs::api
