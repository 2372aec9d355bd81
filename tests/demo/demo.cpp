// nobs-demo: the main job told as a story, on the embedded Kubernetes API. `make demo` runs it.
//
//   nobs-demo [--hold]
//
// The agents and the operator are the real programs; simulated are the driver's trees and the API. Prints each step with
// the time since the start. Exit code 0: every step came true; 1: one did not (the rest is left out); 3: usage.
// --hold leaves everything running until Ctrl-C.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <sstream>

#include "shared/api/names.h"
#include "shared/api/neuron_device.h"
#include "shared/api/node.h"
#include "shared/base/rfc3339.h"
#include "shared/base/stop.h"
#include "shared/base/strings.h"
#include "tests/demo/fleet.h"
#include "tests/demo/screen.h"
#include "tests/scenarios/backend.h"
#include "tests/scenarios/process.h"
#include "tests/sim/tree/tree.h"

namespace nobs::demo {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The three nodes: one gets a fault, one stays as it is, one was cordoned by a person before it gets a fault.
constexpr const char* kFaulty = "ip-10-0-1-11";
constexpr const char* kBystander = "ip-10-0-1-12";
constexpr const char* kHeld = "ip-10-0-1-13";
constexpr std::array kNodes = {kFaulty, kBystander, kHeld};
constexpr int kDevice = 5;
constexpr int kOtherDevice = 2;
constexpr auto kQuietTime = seconds(5);

std::string in_millis(std::chrono::nanoseconds duration) {
  return std::to_string(std::chrono::duration_cast<milliseconds>(duration).count()) + " ms";
}

class Demo {
 public:
  explicit Demo(std::stop_token stop)
      : stop_(std::move(stop)),
        admin_(backend_.config("admin"), "nobs-demo", clock_),
        alice_(backend_.config("alice"), "kubectl-cordon", clock_) {}

  bool run() {
    screen_.say(
        "three trn2.48xlarge nodes with 16 devices each: simulated driver, embedded Kubernetes "
        "API");
    screen_.say("agents and operator are the real programs; shortened is only the quiet time: " +
                std::to_string(kQuietTime.count()) + " s instead of 10 minutes");
    return start() && fleet_is_healthy() && person_cordons() && device_fails() &&
           cordoned_node_fails_too() && devices_are_replaced() && nodes_are_given_back();
  }

  void show_logs() const {
    for (const auto& [name, process] : processes_) {
      const std::string output = process->output();
      const size_t from = output.size() > 2000 ? output.size() - 2000 : 0;
      std::printf("---- end of the log of %s\n%s\n", name.c_str(), output.c_str() + from);
    }
  }

  void hold() {
    screen_.heading("everything goes on running; in another terminal:");
    std::printf("  export KUBECONFIG=%s/admin.kubeconfig\n", backend_.directory().c_str());
    std::printf("  kubectl get nodes; kubectl get neurondevices; kubectl get events\n");
    std::printf("  kubectl describe neurondevice %s\n", api::device_name(kFaulty, kDevice).c_str());
    std::printf("break a device yourself (Ctrl-C here ends the demo):\n");
    const auto& tree = trees_.at(kBystander);
    std::printf("  echo 1 > %s/%s\n", tree->root().c_str(),
                tree->path(7, "stats/hardware/mem_ecc_uncorrected").c_str());
    std::fflush(stdout);
    while (!stop_.stop_requested()) clock_.wait_for(seconds(60), stop_);
  }

 private:
  // ---- the steps

  bool start() {
    screen_.heading("start");
    if (auto created = admin_.create(kNamespaces, "", namespace_object(), stop_);
        !created && !created.error().is_exists())
      return fail("namespace: " + created.error().message);
    if (auto created = admin_.create(api::kPolicies, "", policy_object(kQuietTime), stop_);
        !created)
      return fail("policy: " + created.error().message);
    for (const auto* name : kNodes) {
      if (auto created = admin_.create(api::kNodes, "", node_object(name), stop_); !created)
        return fail("node: " + created.error().message);
      const auto directory = test::scratch_directory(name);
      trees_[name] = std::make_unique<sim::DriverTree>(directory + "/host", sim::TreeOptions{});
      launch(std::string("agent of ") + name,
             {test::program("neuron-observer-agent"), std::string("--node-name=") + name,
              "--kubeconfig=" + kubeconfig(), "--collection.sysfs_path=" + directory + "/host/sys",
              "--collection.proc_path=" + directory + "/host/proc", "--daemon.port=0",
              "--daemon.socket="},
             directory + "/agent.log");
    }
    launch("operator",
           {test::program("neuron-observer-operator"), "--kubeconfig=" + kubeconfig(),
            "--listen.address=127.0.0.1", "--listen.metrics_port=0", "--listen.probe_port=0"},
           test::scratch_directory("operator") + "/operator.log");
    return true;
  }

  bool fleet_is_healthy() {
    const bool healthy =
        step("48 devices are published and Healthy, three nodes are schedulable", seconds(60), [&] {
          return std::all_of(kNodes.begin(), kNodes.end(), [&](const char* name) {
            const auto devices = read_devices(admin_, name);
            return devices.size() == 16 &&
                   std::all_of(devices.begin(), devices.end(),
                               [](const auto& d) { return d.health == api::Health::Healthy; }) &&
                   read_condition(admin_, name) == "True" && !node(name).unschedulable;
          });
        });
    if (healthy) table("nodes", "/api/v1/nodes", {});
    return healthy;
  }

  bool person_cordons() {
    screen_.heading(std::string("a person cordons ") + kHeld + " for reasons of their own");
    auto patched =
        alice_.patch(api::kNodes, "", kHeld,
                     {.kind = kube::PatchKind::Strategic,
                      .body = json::object({{"spec", json::object({{"unschedulable", true}})}})},
                     stop_);
    if (!patched) return fail(patched.error().message);
    return step("it is cordoned, and carries nothing of ours", seconds(10),
                [&] { return node(kHeld).unschedulable && !is_tainted(kHeld); });
  }

  bool device_fails() {
    auto& tree = *trees_.at(kFaulty);
    const auto leaf = tree.path(kDevice, "stats/hardware/mem_ecc_uncorrected");
    screen_.heading("device " + std::to_string(kDevice) + " of " + kFaulty +
                    " counts an unrepairable HBM error");
    const auto injected = clock_.now();
    tree.hbm_uncorrectable(kDevice);
    screen_.say(leaf + ": 0 -> " + std::string(trim(tree.get(leaf))));
    std::optional<WallTime> published;
    std::optional<WallTime> quarantined;
    const bool done = wait(seconds(30), [&] {
      if (!published && device(kFaulty, kDevice).health == api::Health::Unhealthy)
        published = clock_.now();
      if (!quarantined && is_tainted(kFaulty) && node(kFaulty).unschedulable)
        quarantined = clock_.now();
      return published && quarantined;
    });
    const auto verdict = verdict_time();
    screen_.report(verdict.has_value(),
                   "the agent's verdict" +
                       (verdict ? " after " + in_millis(*verdict - injected) : "") +
                       " (it reads each second; a real driver can wake it at once)");
    const auto shown = device(kFaulty, kDevice);
    screen_.report(published.has_value(), "NeuronDevice " + shown.name + " is " +
                                              std::string(to_string(shown.health)) + ": " +
                                              shown.message);
    screen_.report(quarantined.has_value(), std::string(kFaulty) + " is tainted and cordoned");
    if (!done || !verdict) return false;
    screen_.say("from injection to taint: " + in_millis(*quarantined - injected) +
                ", of these from verdict to taint: " + in_millis(*quarantined - *verdict));
    table("neurondevices", "/apis/neuronobserver.io/v1alpha1/neurondevices",
          std::string(api::kNodeLabel) + "=" + kFaulty);
    return step("no other node is touched", seconds(1), [&] { return is_untouched(kBystander); });
  }

  bool cordoned_node_fails_too() {
    screen_.heading("device " + std::to_string(kOtherDevice) + " of " + kHeld +
                    ", which the person cordoned, counts an SRAM error");
    trees_.at(kHeld)->sram_uncorrectable(kOtherDevice);
    const bool done =
        step("it is tainted too; the note on it says that the cordon was there before", seconds(30),
             [&] {
               const auto now = node(kHeld);
               if (!now.quarantine_text) return false;
               const auto note = api::parse_quarantine(*now.quarantine_text);
               return is_tainted(kHeld) && note && note->prior_unschedulable && !note->cordoned;
             });
    if (done) table("nodes", "/api/v1/nodes", {});
    return done;
  }

  bool devices_are_replaced() {
    screen_.heading("both devices are replaced");
    const auto before = device(kFaulty, kDevice).serial;
    trees_.at(kFaulty)->replace_device(kDevice);
    trees_.at(kHeld)->replace_device(kOtherDevice);
    return step("the parts that are there now are Healthy, with other serial numbers", seconds(30),
                [&] {
                  const auto now = device(kFaulty, kDevice);
                  return now.serial != before && now.health == api::Health::Healthy &&
                         device(kHeld, kOtherDevice).health == api::Health::Healthy;
                });
  }

  bool nodes_are_given_back() {
    screen_.heading("the quiet time of " + std::to_string(kQuietTime.count()) + " s passes");
    const bool freed =
        step(std::string(kFaulty) + " is uncordoned, our taint is gone", kQuietTime + seconds(30),
             [&] { return !is_tainted(kFaulty) && !node(kFaulty).unschedulable; });
    const bool kept = step(std::string(kHeld) + ": our taint is gone, the person's cordon stays",
                           kQuietTime + seconds(30),
                           [&] { return !is_tainted(kHeld) && node(kHeld).unschedulable; });
    // By the times that the objects hold: how fast this program looks has no say.
    const auto note = api::parse_quarantine(node(kFaulty).quarantine_text.value_or(""));
    const auto healthy = note ? note->lifted - device(kFaulty, kDevice).since : seconds(0);
    const bool quiet = screen_.report(
        healthy >= kQuietTime,
        "not before the quiet time: the device had been Healthy for " + in_millis(healthy));
    const bool untouched = step(std::string(kBystander) + " was never touched", seconds(1),
                                [&] { return is_untouched(kBystander); });
    table("nodes", "/api/v1/nodes", {});
    screen_.indented("\nthe Events of these nodes:\n" + columns(read_events(admin_)));
    return freed && kept && quiet && untouched;
  }

  // ---- what the API shows

  api::Node node(const char* name) { return read_node(admin_, name); }
  api::NeuronDevice device(const char* node, int index) { return read_device(admin_, node, index); }
  bool is_tainted(const char* name) { return has_our_taint(node(name)); }
  bool is_untouched(const char* name) {
    const auto now = node(name);
    return now.name == name && now.taints.empty() && !now.unschedulable && !now.has_annotations;
  }
  // When the agent says that it judged, by its own log.
  std::optional<WallTime> verdict_time() {
    std::istringstream lines(processes_.at(std::string("agent of ") + kFaulty)->output());
    for (std::string line; std::getline(lines, line);) {
      if (line.find("\"fault began\"") == std::string::npos) continue;
      if (const auto parsed = json::parse(line); parsed)
        if (const auto time = parse_rfc3339((*parsed)["ts"].string_or(""))) return *time;
    }
    return std::nullopt;
  }

  // ---- telling

  bool fail(const std::string& why) const { return screen_.report(false, why); }
  template <typename Condition>
  bool step(const std::string& text, milliseconds limit, const Condition& condition) {
    return screen_.report(wait(limit, condition), text);
  }
  template <typename Condition>
  bool wait(milliseconds limit, const Condition& condition) {
    const auto end = clock_.steady() + limit;
    while (!condition()) {
      if (clock_.steady() >= end || !clock_.wait_for(milliseconds(2), stop_)) return false;
    }
    return true;
  }
  // As a person would ask for it: by kubectl, or where there is none by the API's own table.
  void table(const std::string& resource, const std::string& path, const std::string& selector) {
    std::vector<std::string> command = {"kubectl", "get", resource};
    if (!selector.empty()) command.push_back("--selector=" + selector);
    std::string text;
    const std::string shown = "$ " + join(command, " ") + "\n";
    if (const auto kubectl = find_kubectl(); !kubectl.empty()) {
      command[0] = kubectl;
      const auto log = test::scratch_directory("kubectl") + "/" + std::to_string(++tables_);
      test::Process process(command, log, {"KUBECONFIG=" + kubeconfig()});
      if (process.wait(seconds(20)) == 0) text = process.output();
    }
    if (text.empty()) {
      text =
          api_table(backend_.config("admin"),
                    path + (selector.empty() ? "" : "?labelSelector=" + percent_encode(selector)));
    }
    screen_.indented("\n" + shown + text);
  }
  std::string kubeconfig() const { return backend_.directory() + "/admin.kubeconfig"; }
  void launch(const std::string& name, std::vector<std::string> command, const std::string& log) {
    processes_[name] = std::make_unique<test::Process>(std::move(command), log);
  }
  std::stop_token stop_;
  SystemClock clock_;
  Screen screen_{clock_};
  int tables_ = 0;
  test::Backend backend_;
  kube::Client admin_, alice_;
  std::map<std::string, std::unique_ptr<sim::DriverTree>> trees_;
  std::map<std::string, std::unique_ptr<test::Process>> processes_;  // ended first
};

int main(int argc, char** argv) {
  ignore_sigpipe();
  const StopOnSignals signals({SIGTERM, SIGINT});
  const bool hold = argc == 2 && std::string_view(argv[1]) == "--hold";
  if (argc > 1 && !hold) {
    std::fprintf(stderr, "usage: nobs-demo [--hold]\n");
    return 3;
  }
  ::setenv("NOBS_BACKEND", "embedded", 1);
  try {
    Demo demo(signals.token());
    const bool came_true = demo.run();
    if (signals.token().stop_requested()) {
      std::puts("stopped");
      return 1;
    }
    if (!came_true) demo.show_logs();
    if (hold) demo.hold();
    std::puts(came_true ? "\nevery step came true" : "\na step did not come true");
    return came_true ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nobs-demo: %s\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace nobs::demo

int main(int argc, char** argv) { return nobs::demo::main(argc, argv); }
