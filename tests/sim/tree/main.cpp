// nobs-sim-tree: makes and breaks a simulated driver tree, for people and the demo.
#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "shared/base/strings.h"
#include "tests/sim/tree/tree.h"

namespace {

using nobs::sim::DriverTree;

constexpr const char* kUsage =
    R"(nobs-sim-tree --root DIR COMMAND
  create [--instance trn2.48xlarge] [--driver 2.30.2.0] [--layout A] [--boot-id ID] [--instance-id ID]
  break N hbm|repairable|sram|dma|unreachable|off-bus|resetting|reset-failed|COMPONENT
  fix N components|unreachable|reset
  remove N | restore N | replace N | fail-probe N
  reload | unload | load | reboot BOOT-ID | initstate live|coming|going
  set N PATH VALUE          a file of a device, by layout A's path
  set-core N CORE COUNTER VALUE
  serial N                  prints it
  run                       moves the heartbeats each second until interrupted
)";

using Arguments = std::vector<std::string>;

int number(const Arguments& arguments, size_t at) {
  const auto value = arguments.size() > at ? nobs::parse_u64(arguments[at]) : std::nullopt;
  if (!value) throw std::runtime_error("a number is missing\n" + std::string(kUsage));
  return static_cast<int>(*value);
}

std::string word(const Arguments& arguments, size_t at) {
  if (arguments.size() <= at)
    throw std::runtime_error("an argument is missing\n" + std::string(kUsage));
  return arguments[at];
}

void break_device(DriverTree& tree, int device, const std::string& how) {
  const std::map<std::string, std::function<void()>> ways = {
      {"hbm", [&] { tree.hbm_uncorrectable(device); }},
      {"repairable", [&] { tree.hbm_repairable(device); }},
      {"sram", [&] { tree.sram_uncorrectable(device); }},
      {"dma", [&] { tree.dma_abort(device); }},
      {"unreachable", [&] { tree.unreachable(device); }},
      {"off-bus", [&] { tree.fell_off_bus(device); }},
      {"resetting", [&] { tree.reset_in_progress(device); }},
      {"reset-failed", [&] { tree.reset_failed(device); }},
  };
  if (const auto way = ways.find(how); way != ways.end())
    way->second();
  else
    tree.component(device, how);
}

void fix(DriverTree& tree, int device, const std::string& what) {
  if (what == "components")
    tree.clear_components(device);
  else if (what == "unreachable")
    tree.reachable(device);
  else if (what == "reset")
    tree.reset_done(device);
  else
    throw std::runtime_error("cannot fix " + what);
}

void run(DriverTree tree) {
  for (;;) {  // until a signal ends the process
    std::this_thread::sleep_for(std::chrono::seconds(1));
    try {
      tree.tick();
    } catch (const std::exception&) {  // another command took the files away meanwhile
    }
  }
}

void create(const std::string& root, const Arguments& arguments) {
  nobs::sim::TreeOptions options;
  for (size_t at = 1; at < arguments.size(); at += 2) {
    const std::string value = word(arguments, at + 1);
    if (arguments[at] == "--instance")
      options.instance = value;
    else if (arguments[at] == "--driver")
      options.driver_version = value;
    else if (arguments[at] == "--layout")
      options.layout = nobs::sim::layout_from(value);
    else if (arguments[at] == "--boot-id")
      options.boot_id = value;
    else if (arguments[at] == "--instance-id")
      options.instance_id = value;
    else
      throw std::runtime_error("unknown option " + arguments[at]);
  }
  DriverTree(root, options);
}

void command(const std::string& root, const Arguments& arguments) {
  const std::string verb = word(arguments, 0);
  if (verb == "create") return create(root, arguments);
  DriverTree tree = DriverTree::open(root);
  if (verb == "break") return break_device(tree, number(arguments, 1), word(arguments, 2));
  if (verb == "fix") return fix(tree, number(arguments, 1), word(arguments, 2));
  if (verb == "remove") return tree.remove_device(number(arguments, 1));
  if (verb == "restore") return tree.restore_device(number(arguments, 1));
  if (verb == "replace") return tree.replace_device(number(arguments, 1));
  if (verb == "fail-probe") return tree.fail_probe(number(arguments, 1));
  if (verb == "reload") return tree.reload_driver();
  if (verb == "unload") return tree.unload_driver();
  if (verb == "load") return tree.load_driver();
  if (verb == "reboot") return tree.reboot(word(arguments, 1));
  if (verb == "initstate") return tree.set_initstate(word(arguments, 1));
  if (verb == "set")
    return tree.set_device(number(arguments, 1), word(arguments, 2), word(arguments, 3));
  if (verb == "set-core")
    return tree.set_core(number(arguments, 1), number(arguments, 2), word(arguments, 3),
                         static_cast<std::uint64_t>(number(arguments, 4)));
  if (verb == "serial") {
    std::printf("%s\n", tree.serial(number(arguments, 1)).c_str());
    return;
  }
  if (verb == "run") return run(std::move(tree));
  throw std::runtime_error("unknown command " + verb + "\n" + kUsage);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments(argv + 1, argv + argc);
  if (arguments.size() < 3 || arguments[0] != "--root") {
    std::fputs(kUsage, stderr);
    return 3;
  }
  const std::string root = arguments[1];
  arguments.erase(arguments.begin(), arguments.begin() + 2);
  try {
    command(root, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nobs-sim-tree: %s\n", error.what());
    return 1;
  }
  return 0;
}
