// nobs-bench: the first figures of design section 10, measured through the API as users see it.
//
//   nobs-bench [--output docs/benchmarks.md] [--rounds N]
//
// Runs once on the embedded API and once on a real kube-apiserver (skipped, and said so, where it is not built). Figures
// are of this machine in this run: medians and the spread, no promises.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include "shared/base/file.h"
#include "shared/base/rfc3339.h"
#include "shared/base/strings.h"
#include "tests/scenarios/cluster.h"

using namespace nobs;
using namespace nobs::test;
using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

namespace {

struct Spread {
  std::vector<double> values;

  double at(double part) const {
    if (values.empty()) return 0;
    auto sorted = values;
    std::sort(sorted.begin(), sorted.end());
    return sorted[static_cast<size_t>(part * static_cast<double>(sorted.size() - 1) + 0.5)];
  }
  std::string row(const std::string& name, const std::string& unit,
                  const std::string& budget) const {
    char text[512];
    std::snprintf(text, sizeof text, "| %s | %.1f %s | %.1f | %.1f | %.1f | %zu | %s |\n",
                  name.c_str(), at(0.5), unit.c_str(), at(0.0), at(0.99), at(1.0), values.size(),
                  budget.c_str());
    return text;
  }
};

double ms_since(Steady::time_point begin) {
  return std::chrono::duration<double, std::milli>(Steady::now() - begin).count();
}

// Watches one object and notes when a condition on it first held: a poll would measure itself.
class Watcher {
 public:
  Watcher(kube::Client& client, const ResourceType& type, const std::string& name)
      : thread_([this, &client, type, name](const std::stop_token& stop) {
          auto object = client.list(type, "", {.field_selector = "metadata.name=" + name}, stop,
                                    [](const json::Value&) { return true; });
          while (!stop.stop_requested() && object) {
            (void)client.watch(type, "",
                               {.field_selector = "metadata.name=" + name,
                                .resource_version = object->resource_version},
                               stop, [&](kube::WatchEventType, const json::Value& now) {
                                 const std::lock_guard lock(mutex_);
                                 if (condition_ && !at_ && condition_(now)) at_ = Steady::now();
                                 return true;
                               });
          }
        }) {}

  void expect(std::function<bool(const json::Value&)> condition) {
    const std::lock_guard lock(mutex_);
    condition_ = std::move(condition);
    at_.reset();
  }
  std::optional<Steady::time_point> wait(milliseconds limit) {
    const auto end = Steady::now() + limit;
    while (Steady::now() < end) {
      {
        const std::lock_guard lock(mutex_);
        if (at_) return at_;
      }
      std::this_thread::sleep_for(milliseconds(1));
    }
    return std::nullopt;
  }

 private:
  std::mutex mutex_;
  std::function<bool(const json::Value&)> condition_;
  std::optional<Steady::time_point> at_;
  std::jthread thread_;  // last: it uses what stands above
};

std::uint64_t ticks_of(pid_t pid) {
  const auto text = read_file("/proc/" + std::to_string(pid) + "/stat", 4096);
  if (!text) return 0;
  const auto fields = split(std::string_view(*text).substr(text->rfind(')') + 2), ' ');
  return parse_u64(fields[11]).value_or(0) + parse_u64(fields[12]).value_or(0);
}

double rss_mib(pid_t pid) {
  const auto text = read_file("/proc/" + std::to_string(pid) + "/status", 65536);
  if (!text) return 0;
  const size_t at = text->find("VmRSS:");
  return at == std::string::npos ? 0 : std::strtod(text->c_str() + at + 6, nullptr) / 1024;
}

// Fault after fault in one device; each round ends when the node is back in service.
void measure_latency(const std::string& where, int rounds, std::string& table) {
  Cluster cluster({});
  // A quiet time that grows with each repeat, and ten quarantines an hour, would end the rounds.
  cluster.set_policy(
      json::object({{"mode", "Enforce"},
                    {"budget", json::object({{"maxPerHour", 1000}})},
                    {"recovery", json::object({{"quietTime", "1s"}, {"repeatMultiplier", 1}})}}));
  auto& node = cluster.node("a");
  cluster.start_operator();
  Watcher device(cluster.admin(), api::kNeuronDevices, api::device_name("a", 0));
  Watcher watched_node(cluster.admin(), api::kNodes, "a");
  std::this_thread::sleep_for(
      milliseconds(2500));  // until the operator leads and both watches stand
  Spread published;
  Spread patched;
  for (int i = 0; i < rounds; ++i) {
    device.expect(
        [](const json::Value& o) { return o["status"]["health"].string_or("") == "Unhealthy"; });
    watched_node.expect(
        [](const json::Value& o) { return o["spec"]["unschedulable"].bool_or(false); });
    const auto begin = Steady::now();
    node.driver().hbm_uncorrectable(0);
    const auto at_device = device.wait(std::chrono::seconds(20));
    const auto at_node = watched_node.wait(std::chrono::seconds(20));
    if (!at_device || !at_node)
      throw std::runtime_error(where + ": the fault of round " + std::to_string(i) +
                               " was not acted on");
    published.values.push_back(
        std::chrono::duration<double, std::milli>(*at_device - begin).count());
    patched.values.push_back(
        std::chrono::duration<double, std::milli>(*at_node - *at_device).count());
    node.driver().replace_device(0);
    if (!cluster.eventually([&] { return node.all_healthy() && !node.has_our_taint(); }))
      throw std::runtime_error(where + ": round " + std::to_string(i) + " did not end in recovery");
    std::cerr << "\r" << where << ": round " << i + 1 << " of " << rounds << std::flush;
  }
  std::cerr << "\n";
  table += published.row("fault injected → NeuronDevice published, 50 ms cycle (" + where + ")",
                         "ms", "–");
  table += patched.row("verdict published → node tainted and cordoned (" + where + ")", "ms",
                       where == "embedded" ? "–" : "p50 25, p99 100");
}

// One agent as it runs on a trn2.48xlarge: 16 devices with 8 cores, default intervals.
void measure_idle(std::string& table) {
  Cluster cluster({.instance = "trn2.48xlarge", .start_agents = false});
  auto& node = cluster.node("a");
  node.start_agent({"--collection.interval=1s", "--heartbeat.interval=30s", "--log.level=info"});
  if (!cluster.eventually([&] { return node.all_healthy(); }))
    throw std::runtime_error("the devices never became healthy");
  std::this_thread::sleep_for(std::chrono::seconds(3));
  cluster.proxy().forget_seen();
  const auto begin = Steady::now();
  const auto ticks = ticks_of(node.agent().pid());
  Spread memory;
  for (int i = 0; i < 60; ++i) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    memory.values.push_back(rss_mib(node.agent().pid()));
    std::cerr << "\ridle: second " << i + 1 << " of 60" << std::flush;
  }
  std::cerr << "\n";
  const double seconds = ms_since(begin) / 1000;
  const double cpu = static_cast<double>(ticks_of(node.agent().pid()) - ticks) /
                     static_cast<double>(::sysconf(_SC_CLK_TCK)) / seconds * 100;
  const double requests = static_cast<double>(cluster.proxy().seen().size()) / seconds * 60;
  table += memory.row("agent memory, 16 devices × 8 cores", "MiB", "16");
  table += Spread{{cpu}}.row("agent CPU, 16 × 8 at a 1 s cycle", "% of a core", "1");
  table += Spread{{requests}}.row("API requests of an idle node in a minute", "", "2.4");
}

std::string run_backend(const char* self, const std::string& backend, int rounds) {
  // A process of its own: the backend is chosen once for each.
  const std::string file = scratch_directory("bench") + "/" + backend;
  const std::string command = std::string(self) + " --only " + backend + " --output " + file +
                              " --rounds " + std::to_string(rounds);
  if (std::system(("NOBS_BACKEND=" + backend + " " + command).c_str()) != 0)
    throw std::runtime_error("the run on backend " + backend + " failed");
  const auto text = read_file(file, 1 << 20);
  return text ? *text : std::string();
}

void run(int argc, char** argv) {
  // The cluster's own checks work outside of a test case: the first that fails ends the run.
  doctest::Context context;
  context.setAsDefaultForAssertsOutOfTestCases();
  std::string output;
  std::string only;
  int rounds = 40;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--output") output = argv[i + 1];
    if (flag == "--only") only = argv[i + 1];
    if (flag == "--rounds") rounds = std::max(1, std::atoi(argv[i + 1]));
  }
  std::string text;
  if (!only.empty()) {
    measure_latency(only == "cluster" ? "real API server" : "embedded", rounds, text);
    if (only == "embedded") measure_idle(text);
  } else {
    text = "# Benchmarks\n\nWritten by `make bench` on " +
           format_seconds(std::chrono::system_clock::now()) + ", " +
           std::to_string(std::thread::hardware_concurrency()) +
           " cores, release build. One run on one machine that does other things too: the spread "
           "is\nshown, and only "
           "figures of the same run may be compared. Budgets are those of the design.\n\n"
           "| what | median | min | p99 | max | n | budget |\n|---|---|---|---|---|---|---|\n";
    text += run_backend(argv[0], "embedded", rounds);
    if (std::filesystem::exists(std::string(NOBS_SOURCE_DIR) +
                                "/build/cluster/bin/kube-apiserver")) {
      text += run_backend(argv[0], "cluster", rounds);
    } else {
      std::cerr << "the real API server is not built: its figures are missing\n";
    }
    text +=
        "\nPlain files cannot wake a reader, so the first row is dominated by the cycle (here 50 "
        "ms, by default 1 s) and the\n"
        "second, agreeing reading. The budget for verdict → node is judged on the real API "
        "server. On plain files the agent opens,\n"
        "reads and closes; on sysfs it keeps its files open, so CPU and memory here are more than "
        "on a node.\n";
  }
  std::cout << text;
  if (!output.empty()) std::ofstream(output) << text;
}

}  // namespace

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);
  try {
    run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "\n" << error.what() << "\n";
    return 1;
  }
  return 0;
}
