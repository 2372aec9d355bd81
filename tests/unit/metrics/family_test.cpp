#include "shared/metrics/family.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "shared/metrics/registry.h"

namespace nobs::metrics {
namespace {

std::string text(const Family& family, TextFormat format = TextFormat::Prometheus) {
  std::string out;
  append_text(out, family, format);
  return out;
}

Family gauge(std::vector<std::string> label_names, std::vector<Point> points) {
  return {
      .name = "g", .help = "h", .label_names = std::move(label_names), .points = std::move(points)};
}

TEST_CASE("dots become underscores, and a counter has _total once") {
  Family family{.name = "neuron.core.infer_completed.sum", .help = "h", .type = Type::Counter};
  CHECK(prometheus_name(family) == "neuron_core_infer_completed_sum_total");
  family.name = "neuron_observer_cycles_total";
  CHECK(prometheus_name(family) == "neuron_observer_cycles_total");
  family.type = Type::Gauge;
  family.name = "1st-ä.x";
  CHECK(prometheus_name(family) == "_1st____x");
}

TEST_CASE("points are shown in their order, with the label names Prometheus accepts") {
  Family family{.name = "a.b", .help = "Text.", .type = Type::Counter, .label_names = {"k.x", "l"}};
  family.points = {{{"2", "z"}, 5}, {{"10", "a"}, 1.5}};
  CHECK(text(family) ==
        "# HELP a_b_total Text.\n"
        "# TYPE a_b_total counter\n"
        "a_b_total{k_x=\"2\",l=\"z\"} 5\n"
        "a_b_total{k_x=\"10\",l=\"a\"} 1.5\n");
  CHECK(text(family, TextFormat::OpenMetrics) ==
        "# HELP a_b Text.\n"
        "# TYPE a_b counter\n"
        "a_b_total{k_x=\"2\",l=\"z\"} 5\n"
        "a_b_total{k_x=\"10\",l=\"a\"} 1.5\n");
}

TEST_CASE("a family without points shows nothing, not even its head") {
  CHECK(text(gauge({}, {})).empty());
}

TEST_CASE("label values cannot break the page, whatever bytes they hold") {
  CHECK(text(gauge({"l"}, {{{"x\ny\\z\"q\xff"}, 1}})) ==
        "# HELP g h\n# TYPE g gauge\n"
        "g{l=\"x\\ny\\\\z\\\"q\xEF\xBF\xBD\"} 1\n");
  CHECK(text(gauge({"l"}, {{{std::string(3000, 'x')}, 1}})).size() < 1100);
}

TEST_CASE("two points that look the same are shown once, the first one") {
  CHECK(text(gauge({"l"}, {{{"b"}, 1}, {{"a"}, 2}, {{"b"}, 3}, {{"a\xff"}, 4}, {{"a\xfe"}, 5}})) ==
        "# HELP g h\n# TYPE g gauge\n"
        "g{l=\"b\"} 1\ng{l=\"a\"} 2\ng{l=\"a\xEF\xBF\xBD\"} 4\n");
  CHECK(text(gauge({}, {{{}, 1}, {{}, 2}})) == "# HELP g h\n# TYPE g gauge\ng 1\n");
}

TEST_CASE("what is no number has the words of the format") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  CHECK(text(gauge({"l"}, {{{"a"}, std::nan("")}, {{"b"}, kInfinity}, {{"c"}, -kInfinity}})) ==
        "# HELP g h\n# TYPE g gauge\n"
        "g{l=\"a\"} NaN\ng{l=\"b\"} +Inf\ng{l=\"c\"} -Inf\n");
}

TEST_CASE("a histogram whose buckets do not fit its bounds is still whole") {
  Family family{.name = "h", .help = "h", .type = Type::Histogram, .bounds = {1}};
  family.points = {{{}, 7.5, {2, 3}}};
  CHECK(text(family) ==
        "# HELP h h\n# TYPE h histogram\n"
        "h_bucket{le=\"1.0\"} 2\nh_bucket{le=\"+Inf\"} 5\nh_sum 7.5\nh_count 5\n");
  family.points = {{{}, 7.5, {2}}};
  CHECK(text(family).ends_with("le=\"+Inf\"} 2\nh_sum 7.5\nh_count 2\n"));
}

TEST_CASE("OpenMetrics has a unit only where the name ends in its word") {
  Family family = gauge({}, {{{}, 1}});
  family.unit = "s";
  const auto unit = [&](const std::string& name) {
    family.name = name;
    const auto shown = text(family, TextFormat::OpenMetrics);
    const auto at = shown.find("# UNIT");
    return at == std::string::npos ? "" : shown.substr(at, shown.find('\n', at) - at);
  };
  CHECK(unit("delay_seconds") == "# UNIT delay_seconds seconds");
  CHECK(unit("delay").empty());
  CHECK(unit("seconds").empty());
  family.unit = "{error}";
  CHECK(unit("x_seconds").empty());
  family.unit = "By";
  family.type = Type::Counter;
  CHECK(unit("sent.bytes") == "# UNIT sent_bytes bytes");
  CHECK(text(family).find("UNIT") == std::string::npos);
}

TEST_CASE("the registry's families as values give the same text as its scrape") {
  Registry registry;
  auto& requests = registry.counter("b_requests_total", "Requests.", {"verb"});
  auto& seconds = registry.histogram("a_seconds", "Time.", {0.5, 1}, {"verb"});
  registry.gauge("empty", "Nothing yet.");
  requests.add({"PUT"});
  requests.add({"GET\xff"}, 3);
  requests.add({"GET\xfe"}, 4);
  seconds.observe({"GET"}, 0.7);

  const auto families = registry.collect();
  REQUIRE(families.size() == 2);
  CHECK(families[0].name == "a_seconds");
  CHECK(families[0].unit == "s");
  CHECK(families[0].bounds == std::vector<double>{0.5, 1});
  CHECK(families[0].points[0].buckets == std::vector<std::uint64_t>{0, 1, 0});
  CHECK(families[1].name == "b_requests");
  CHECK(families[1].type == Type::Counter);
  REQUIRE(families[1].points.size() == 2);
  CHECK(families[1].points[1].labels == Labels{"PUT"});
  std::string shown;
  for (const auto& family : families) append_text(shown, family, TextFormat::OpenMetrics);
  CHECK(shown + "# EOF\n" == registry.open_metrics());
  CHECK(shown.find("# UNIT a_seconds seconds\n") != std::string::npos);
}

}  // namespace
}  // namespace nobs::metrics
