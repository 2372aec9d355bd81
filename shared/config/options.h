// Options of a program: a struct with defaults, filled from YAML, then the environment, then flags; every mistake listed.
//
// For the mains. Not thread-safe. An empty variable counts as unset; of a repeated flag the last counts. Unknown YAML keys are warnings (files stay usable across versions) and name the nearest
// known key; unknown flags and wrong values are mistakes. Environment name: given for each option, or none.
//
//   AgentOptions options;
//   config::Binder binder("neuron-observer-agent", "Judges the Neuron devices of this node and publishes them.");
//   binder.text("collection.sysfs_path", options.sysfs, "where sysfs is mounted").env("NOBS_SYSFS");
//   binder.duration("collection.interval", options.interval, "time between cycles", 100ms, 60s);
//   binder.example("neuron-observer-agent --config /etc/neuron-observer/agent.yaml");
//   const auto loaded = binder.load(argc, argv, getenv_function);
//   for (const auto& w : loaded.warnings) ...;  if (!loaded.mistakes.empty()) { print them; return 3; }
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.h"
#include "shared/json/value.h"

namespace nobs::config {

// A YAML document as JSON. Aliases are expanded within a budget of 100,000 nodes; duplicate keys, tags and several
// documents are refused; plain scalars follow YAML 1.2's core schema (yes is a string, 010 is ten), quoted ones stay text.
Result<json::Value> parse_yaml(std::string_view text);

struct Loaded {
  std::vector<std::string>
      mistakes;  // each says what, where (file key, variable or flag) and what is accepted
  std::vector<std::string> warnings;
  bool wants_help = false;    // --help: print help() and exit 0
  bool wants_config = false;  // --print-config: print printed() and exit 0
  bool wants_check = false;   // --check-config: only say what is wrong, and exit 0 when nothing is
};

class Binder {
 public:
  Binder(std::string program, std::string purpose);

  class Option {
   public:
    Option& env(std::string name);
    Option& secret();  // --print-config shows *** instead
   private:
    friend class Binder;
    std::string key_, help_, env_, accepted_, default_;
    bool secret_ = false, is_flag_ = false;
    bool is_text_ = false;  // numbers in YAML are refused: 0123 and 1.10 would arrive changed
    std::function<Result<void>(std::string_view)> parse_;
    std::function<std::string()> print_;
  };

  // Dotted keys: "log.level" is `log: {level: …}` in YAML and --log.level=… as a flag. Targets outlive the binder and
  // hold the default. The returned reference is valid until the next call.
  Option& text(std::string key, std::string& target, std::string help);
  Option& choice(std::string key, std::string& target, std::string help,
                 std::vector<std::string> accepted);
  Option& flag(std::string key, bool& target, std::string help);
  Option& integer(std::string key, std::int64_t& target, std::string help, std::int64_t min,
                  std::int64_t max);
  Option& duration(std::string key, std::chrono::nanoseconds& target, std::string help,
                   std::chrono::nanoseconds min, std::chrono::nanoseconds max);
  void example(std::string command_line);

  // --config FILE (or the variable NOBS_CONFIG) names the YAML file.
  Loaded load(int argc, const char* const* argv,
              const std::function<const char*(const char*)>& get_env);
  // Prints what was asked for and every warning and mistake. The exit code to end with at once (3: mistakes), or nothing.
  std::optional<int> report(const Loaded& loaded, std::ostream& out, std::ostream& err) const;
  std::string help() const;
  std::string printed() const;  // the options as YAML, each with the place its value came from

 private:
  Option& add(std::string key, std::string help, std::string accepted);
  void read_yaml(const std::string& path, Loaded& loaded);
  void walk_yaml(const json::Value& value, const std::string& prefix, const std::string& path,
                 Loaded& loaded);
  void take_yaml(size_t option, const json::Value& value, const std::string& path, Loaded& loaded);
  void assign(size_t option, std::string_view value, const std::string& place, Loaded& loaded);
  std::optional<size_t> find(std::string_view key) const;
  bool is_section(const std::string& key) const;
  std::string hint(const std::string& key) const;
  std::string shown(size_t option) const;

  std::string program_, purpose_;
  std::vector<std::string> examples_;
  std::vector<Option> options_;
  std::vector<std::string> origins_;
};

}  // namespace nobs::config
