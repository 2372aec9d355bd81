#include "shared/metrics/registry.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <limits>
#include <thread>

namespace nobs::metrics {
namespace {

// The lines of `text` that begin with `start`, joined.
std::string lines(const std::string& text, const std::string& start) {
  std::string found;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin + 1);
    if (line.starts_with(start)) found += line;
    begin = end + 1;
  }
  return found;
}

bool aborts(void (*body)(Registry&)) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::signal(SIGABRT, SIG_DFL);
    ::close(STDERR_FILENO);
    Registry registry;
    body(registry);
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

TEST_CASE("a scrape shows families by name with help and type, and series by label") {
  Registry registry;
  auto& requests = registry.counter("b_requests_total", "Requests.", {"verb", "code"});
  auto& temperature = registry.gauge("a_temperature_celsius", "Warmth.");
  requests.add({"PUT", "200"});
  requests.add({"GET", "200"}, 41);
  requests.add({"GET", "200"});
  temperature.set(36.5);
  CHECK(registry.text() ==
        "# HELP a_temperature_celsius Warmth.\n"
        "# TYPE a_temperature_celsius gauge\n"
        "a_temperature_celsius 36.5\n"
        "# HELP b_requests_total Requests.\n"
        "# TYPE b_requests_total counter\n"
        "b_requests_total{verb=\"GET\",code=\"200\"} 42\n"
        "b_requests_total{verb=\"PUT\",code=\"200\"} 1\n");
}

TEST_CASE("OpenMetrics names counters without _total in the head and ends with # EOF") {
  Registry registry;
  registry.counter("b_requests_total", "Say \"yes\".").add();
  CHECK(registry.open_metrics() ==
        "# HELP b_requests Say \\\"yes\\\".\n"
        "# TYPE b_requests counter\n"
        "b_requests_total 1\n"
        "# EOF\n");
  CHECK(lines(registry.text(), "# HELP") == "# HELP b_requests_total Say \"yes\".\n");
}

TEST_CASE("a line break in help or label cannot break the page") {
  Registry registry;
  registry.gauge("g", "a\nb\\c", {"l"}).set({"x\ny\\z\"q"}, 1);
  CHECK(registry.text() ==
        "# HELP g a\\nb\\\\c\n"
        "# TYPE g gauge\n"
        "g{l=\"x\\ny\\\\z\\\"q\"} 1\n");
}

TEST_CASE("label values are valid UTF-8 and bounded; what then looks the same is shown once") {
  Registry registry;
  auto& gauge = registry.gauge("g", "h", {"l"});
  gauge.set({"a\xff"}, 1);
  gauge.set({"a\xfe"}, 1);
  gauge.set({std::string(5000, 'x')}, 1);
  CHECK(lines(registry.text(), "g{l=\"a") == "g{l=\"a\xEF\xBF\xBD\"} 1\n");
  CHECK(lines(registry.text(), "g{l=\"x").size() < 1100);
}

TEST_CASE("numbers are exact, whatever their size") {
  Registry registry;
  auto& gauge = registry.gauge("g", "h", {"l"});
  const auto shown = [&](double value) {
    gauge.set({"v"}, value);
    const auto line = lines(registry.text(), "g{");
    return line.substr(9, line.size() - 10);
  };
  CHECK(shown(0) == "0");
  CHECK(shown(-0.5) == "-0.5");
  CHECK(shown(0.1) == "0.1");
  CHECK(shown(1e6) == "1000000");
  CHECK(shown(9'007'199'254'740'992.0) == "9007199254740992");
  CHECK(std::stod(shown(1.2345e300)) == 1.2345e300);
  CHECK(shown(std::nan("")) == "NaN");
  CHECK(shown(std::numeric_limits<double>::infinity()) == "+Inf");
  CHECK(shown(-std::numeric_limits<double>::infinity()) == "-Inf");
}

TEST_CASE("histogram buckets are cumulative, end at +Inf, and the last equals the count") {
  Registry registry;
  auto& seconds = registry.histogram("h_seconds", "h", {0.25, 1}, {"verb"});
  seconds.observe({"GET"}, 0.25);  // a bound belongs to its bucket
  seconds.observe({"GET"}, 0.5);
  seconds.observe({"GET"}, 7);
  seconds.observe({"GET"}, std::nan(""));
  CHECK(registry.text() ==
        "# HELP h_seconds h\n"
        "# TYPE h_seconds histogram\n"
        "h_seconds_bucket{verb=\"GET\",le=\"0.25\"} 1\n"
        "h_seconds_bucket{verb=\"GET\",le=\"1.0\"} 2\n"
        "h_seconds_bucket{verb=\"GET\",le=\"+Inf\"} 3\n"
        "h_seconds_sum{verb=\"GET\"} 7.75\n"
        "h_seconds_count{verb=\"GET\"} 3\n");
}

TEST_CASE("counters and histograms without labels are there from the start, gauges when known") {
  Registry registry;
  registry.counter("c_total", "c");
  registry.histogram("h", "h", {});
  registry.gauge("g", "g");
  CHECK(lines(registry.text(), "c_total") == "c_total 0\n");
  CHECK(lines(registry.text(), "h_") == "h_bucket{le=\"+Inf\"} 0\nh_sum 0\nh_count 0\n");
  CHECK(registry.text().find("# TYPE g ") == std::string::npos);
}

TEST_CASE("a removed series is gone, and its family's head with the last one") {
  Registry registry;
  auto& gauge = registry.gauge("g", "h", {"l"});
  auto& counter = registry.counter("c_total", "h", {"l"});
  gauge.set({"a"}, 1);
  gauge.set({"b"}, 2);
  counter.set({"a"}, 3);
  CHECK(lines(registry.text(), "g{") == "g{l=\"a\"} 1\ng{l=\"b\"} 2\n");
  gauge.remove({"a"});
  CHECK(lines(registry.text(), "g{") == "g{l=\"b\"} 2\n");
  gauge.clear();
  counter.remove({"a"});
  CHECK(registry.text().empty());
}

TEST_CASE("a counter does not fall") {
  Registry registry;
  auto& counter = registry.counter("c_total", "c");
  counter.add({}, 5);
  counter.add({}, -3);
  counter.add({}, std::nan(""));
  CHECK(lines(registry.text(), "c_total") == "c_total 5\n");
}

TEST_CASE("a full family drops new series and counts them, and keeps the old ones current") {
  Registry registry;
  auto& gauge = registry.gauge("g", "h", {"l"}, 2);
  gauge.set({"a"}, 1);
  gauge.set({"b"}, 1);
  gauge.set({"c"}, 1);
  gauge.set({"a"}, 7);
  CHECK(lines(registry.text(), "g{") == "g{l=\"a\"} 7\ng{l=\"b\"} 1\n");
  CHECK(lines(registry.text(), "neuron_observer_metrics_dropped_series_total{") ==
        "neuron_observer_metrics_dropped_series_total{family=\"g\"} 1\n");
  gauge.remove({"b"});
  gauge.set({"c"}, 1);
  CHECK(lines(registry.text(), "g{l=\"c\"") == "g{l=\"c\"} 1\n");
}

TEST_CASE("a wrong or duplicate name ends the program at start, not at the scraper") {
  CHECK_FALSE(aborts([](Registry& r) { r.gauge("fine_name", "h", {"label"}); }));
  CHECK(aborts([](Registry& r) { r.gauge("wrong.name", "h"); }));
  CHECK(aborts([](Registry& r) { r.gauge("1st", "h"); }));
  CHECK(aborts([](Registry& r) { r.gauge("", "h"); }));
  CHECK(aborts([](Registry& r) { r.counter("requests", "h"); }));
  CHECK(aborts([](Registry& r) { r.gauge("g", "h", {"wrong-label"}); }));
  CHECK(aborts([](Registry& r) { r.gauge("g", "h", {"__reserved"}); }));
  CHECK(aborts([](Registry& r) { r.gauge("g", "h", {"l", "l"}); }));
  CHECK(aborts([](Registry& r) { r.histogram("h", "h", {1}, {"le"}); }));
  CHECK(aborts([](Registry& r) { r.histogram("h", "h", {2, 1}); }));
  CHECK(aborts([](Registry& r) { r.histogram("h", "h", {1, 1}); }));
  CHECK(aborts([](Registry& r) { r.histogram("h_count", "h", {1}); }));
  CHECK(aborts([](Registry& r) {
    r.gauge("g", "h");
    r.gauge("g", "h");
  }));
  CHECK(aborts([](Registry& r) {
    r.histogram("h", "h", {1});
    r.gauge("h_sum", "h");
  }));
  CHECK(aborts([](Registry& r) {
    r.counter("x_total", "h");
    r.gauge("x", "h");
  }));
  CHECK(aborts([](Registry& r) { r.gauge("g", "h", {"l"}).set(1); }));
}

TEST_CASE("many threads count while others scrape") {
  Registry registry;
  auto& counter = registry.counter("c_total", "c", {"l"});
  auto& gauge = registry.gauge("g", "g", {"l"});
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 1000; ++i) {
          counter.add({std::to_string(i % 3)});
          gauge.set({std::to_string(t)}, i);
          gauge.remove({std::to_string(t)});
        }
      });
    }
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) CHECK(registry.open_metrics().ends_with("# EOF\n"));
    });
  }
  CHECK(lines(registry.text(), "c_total") ==
        "c_total{l=\"0\"} 1002\nc_total{l=\"1\"} 999\nc_total{l=\"2\"} 999\n");
}

}  // namespace
}  // namespace nobs::metrics
