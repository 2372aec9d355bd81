#include "shared/otel/encode.h"

#include <doctest/doctest.h>

#include <limits>

#include "shared/base/file.h"
#include "shared/json/value.h"
#include "shared/otel/proto.h"
#include "shared/otel/series.h"

namespace nobs::otel {
namespace {

using metrics::Family;
using metrics::Type;
using std::chrono::seconds;

const WallTime kStart{seconds(1'796'040'000)};
const WallTime kTime = kStart + seconds(60);

Frame frame(Protocol protocol = Protocol::Protobuf) {
  return {.protocol = protocol,
          .resource = {{"service.name", "neuron-observer-agent"}, {"k8s.node.name", "node-ä"}},
          .scope_version = "1.2.3",
          .time = kTime};
}

// The same as make_request.py builds from the official classes.
std::vector<Timed> sample() {
  Family counter{.name = "neuron.core.infer_completed.sum",
                 .unit = "{inference}",
                 .help = "Inferences.",
                 .type = Type::Counter,
                 .label_names = {"neuron_device", "pod"},
                 .points = {{{"0", ""}, 0}, {{"15", ""}, 123456789}}};
  Family gauge{.name = "neuron.device.power_avg",
               .unit = "%",
               .help = "Power.",
               .label_names = {"neuron_device", "pod"},
               .points = {{{"3",
                            "a\xff"
                            "b"},
                           -0.5}}};
  Family histogram{.name = "cycle_seconds",
                   .unit = "s",
                   .type = Type::Histogram,
                   .bounds = {0.25, 1},
                   .points = {{{}, 7.75, {1, 2, 3}}}};
  return {{counter, false, {kStart, kStart}}, {gauge, false, {}}, {histogram, true, {kStart}}};
}

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    constexpr char kHex[] = "0123456789abcdef";
    out += kHex[static_cast<unsigned char>(c) >> 4];
    out += kHex[c & 15];
  }
  return out;
}

TEST_CASE("a protobuf request has the bytes that the official classes make") {
  auto golden = read_file(NOBS_SOURCE_DIR "/tests/unit/otel/request.hex", 1U << 20);
  REQUIRE(golden);
  std::erase(*golden, '\n');
  const auto requests = encode(frame(), sample());
  REQUIRE(requests.size() == 1);
  CHECK(requests[0].points == 4);
  CHECK(hex(requests[0].body) == *golden);
}

TEST_CASE("a JSON request is proto3's mapping: 64-bit integers as text, enumerations as numbers") {
  const auto requests = encode(frame(Protocol::Json), sample());
  REQUIRE(requests.size() == 1);
  const auto parsed = json::parse(requests[0].body);
  REQUIRE(parsed);
  const auto expected = json::parse(R"({"resourceMetrics":[{
    "resource":{"attributes":[
      {"key":"service.name","value":{"stringValue":"neuron-observer-agent"}},
      {"key":"k8s.node.name","value":{"stringValue":"node-ä"}}]},
    "scopeMetrics":[{"scope":{"name":"neuron-observer","version":"1.2.3"},"metrics":[
      {"name":"neuron.core.infer_completed.sum","description":"Inferences.","unit":"{inference}",
       "sum":{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[
         {"startTimeUnixNano":"1796040000000000000","timeUnixNano":"1796040060000000000",
          "asDouble":0.0,"attributes":[{"key":"neuron_device","value":{"stringValue":"0"}}]},
         {"startTimeUnixNano":"1796040000000000000","timeUnixNano":"1796040060000000000",
          "asDouble":123456789.0,"attributes":[{"key":"neuron_device","value":{"stringValue":"15"}}]}]}},
      {"name":"neuron.device.power_avg","description":"Power.","unit":"%",
       "gauge":{"dataPoints":[{"timeUnixNano":"1796040060000000000","asDouble":-0.5,
         "attributes":[{"key":"neuron_device","value":{"stringValue":"3"}},
                       {"key":"pod","value":{"stringValue":"a\ufffdb"}}]}]}},
      {"name":"cycle_seconds","unit":"s",
       "histogram":{"aggregationTemporality":1,"dataPoints":[
         {"startTimeUnixNano":"1796040000000000000","timeUnixNano":"1796040060000000000",
          "attributes":[],"count":"6","sum":7.75,"bucketCounts":["1","2","3"],
          "explicitBounds":[0.25,1.0]}]}}]}]}]})");
  REQUIRE(expected);
  CHECK(json::dump(*parsed) == json::dump(*expected));
}

TEST_CASE("values that are no numbers have words in JSON, where null would be refused") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Family gauge{.name = "g",
                     .label_names = {"l"},
                     .points = {{{"a"}, std::numeric_limits<double>::quiet_NaN()},
                                {{"b"}, kInfinity},
                                {{"c"}, -kInfinity}}};
  const auto requests = encode(frame(Protocol::Json), {{gauge, false, {}}});
  REQUIRE(requests.size() == 1);
  CHECK(requests[0].body.find(R"("asDouble":"NaN")") != std::string::npos);
  CHECK(requests[0].body.find(R"("asDouble":"Infinity")") != std::string::npos);
  CHECK(requests[0].body.find(R"("asDouble":"-Infinity")") != std::string::npos);
}

TEST_CASE("what looks the same after cleaning is sent once, and what has no point not at all") {
  Family gauge{.name = "g", .label_names = {"l"}, .points = {{{"\xff"}, 1}, {{"\xfe"}, 2}}};
  auto requests = encode(frame(), {{gauge, false, {}}});
  REQUIRE(requests.size() == 1);
  CHECK(requests[0].points == 1);
  gauge.points.clear();
  CHECK(encode(frame(), {{gauge, false, {}}}).empty());
}

TEST_CASE("large collections become several requests, each below the limit and whole families") {
  for (const auto protocol : {Protocol::Protobuf, Protocol::Json}) {
    std::vector<Timed> families;
    for (int f = 0; f < 20; ++f) {
      Family gauge{.name = "family." + std::to_string(f), .label_names = {"l"}};
      for (int p = 0; p < 50; ++p) gauge.points.push_back({{std::to_string(p)}, 1.0 * p});
      families.push_back({std::move(gauge), false, {}});
    }
    Frame small = frame(protocol);
    small.max_bytes = 16'000;
    const auto requests = encode(small, families);
    CHECK(requests.size() > 1);
    size_t points = 0;
    for (const auto& request : requests) {
      CHECK(request.body.size() < 16'500);  // with the resource
      CHECK(request.points % 50 == 0);
      points += request.points;
    }
    CHECK(points == 1000);
    CHECK(encode(frame(protocol), families).size() == 1);
  }
}

// ---- series

Family counter(std::vector<metrics::Point> points) {
  return {.name = "c", .type = Type::Counter, .label_names = {"l"}, .points = std::move(points)};
}

TEST_CASE("a cumulative series begins with the program, or after the collection before it") {
  Series series(Temporality::Cumulative, kStart);
  auto timed = series.advance({counter({{{"a"}, 5}})}, kStart + seconds(10));
  CHECK_FALSE(timed[0].delta);
  CHECK(timed[0].starts == std::vector<WallTime>{kStart});
  timed = series.advance({counter({{{"a"}, 7}, {{"b"}, 1}})}, kStart + seconds(20));
  CHECK(timed[0].family.points[0].value == 7);
  CHECK(timed[0].starts == std::vector<WallTime>{kStart, kStart + seconds(10)});
}

TEST_CASE("a counter that fell has restarted: another start, and a delta that is its whole value") {
  Series cumulative(Temporality::Cumulative, kStart);
  Series delta(Temporality::Delta, kStart);
  for (auto* series : {&cumulative, &delta}) {
    series->advance({counter({{{"a"}, 5}})}, kStart + seconds(10));
    series->advance({counter({{{"a"}, 9}})}, kStart + seconds(20));
    const auto timed = series->advance({counter({{{"a"}, 3}})}, kStart + seconds(30));
    CHECK(timed[0].family.points[0].value == 3);
    CHECK(timed[0].starts == std::vector<WallTime>{kStart + seconds(20)});
  }
  const auto timed = cumulative.advance({counter({{{"a"}, 4}})}, kStart + seconds(40));
  CHECK(timed[0].starts == std::vector<WallTime>{kStart + seconds(20)});
}

TEST_CASE("deltas count from the collection before; the first one is only the base") {
  Series series(Temporality::Delta, kStart);
  auto timed = series.advance({counter({{{"a"}, 1000}})}, kStart + seconds(10));
  CHECK(timed[0].family.points.empty());
  timed = series.advance({counter({{{"a"}, 1002}, {{"b"}, 4}})}, kStart + seconds(20));
  CHECK(timed[0].delta);
  REQUIRE(timed[0].family.points.size() == 2);
  CHECK(timed[0].family.points[0].value == 2);
  CHECK(timed[0].family.points[1].value == 4);
  CHECK(timed[0].starts == std::vector<WallTime>(2, kStart + seconds(10)));
  timed = series.advance({counter({{{"a"}, 1002}})}, kStart + seconds(30));
  CHECK(timed[0].family.points[0].value == 0);
  CHECK(timed[0].starts == std::vector<WallTime>{kStart + seconds(20)});
  CHECK(series.size() == 1);  // what is gone is forgotten
}

TEST_CASE("a histogram's deltas are those of its buckets and its sum") {
  Family histogram{.name = "h", .type = Type::Histogram, .bounds = {1}};
  const auto with = [&](double sum, std::vector<std::uint64_t> buckets) {
    histogram.points = {{{}, sum, std::move(buckets)}};
    return std::vector<Family>{histogram};
  };
  Series series(Temporality::LowMemory, kStart);
  series.advance(with(3, {2, 1}), kStart + seconds(10));
  auto timed = series.advance(with(8, {2, 4}), kStart + seconds(20));
  CHECK(timed[0].delta);
  CHECK(timed[0].family.points[0].value == 5);
  CHECK(timed[0].family.points[0].buckets == std::vector<std::uint64_t>{0, 3});
  timed = series.advance(with(1, {1, 4}), kStart + seconds(30));
  CHECK(timed[0].family.points[0].buckets == std::vector<std::uint64_t>{1, 4});
}

TEST_CASE("low memory keeps counters cumulative, and gauges have no beginning in any temporality") {
  for (const auto temporality :
       {Temporality::Cumulative, Temporality::Delta, Temporality::LowMemory}) {
    Series series(temporality, kStart);
    const auto timed = series.advance({counter({{{"a"}, 5}}), {.name = "g", .points = {{{}, -3}}}},
                                      kStart + seconds(10));
    CHECK(timed[0].delta == (temporality == Temporality::Delta));
    CHECK(timed[1].starts.empty());
    CHECK(timed[1].family.points[0].value == -3);
  }
}

}  // namespace
}  // namespace nobs::otel
