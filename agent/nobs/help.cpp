#include "agent/nobs/help.h"

#include <array>

#include "shared/base/strings.h"

namespace nobs::cli {
namespace {

struct Command {
  const char* name;
  const char* words;    // behind the name
  const char* purpose;  // one line
  const char* more;     // options of its own; may be empty
  const char* examples;
};

constexpr std::array<Command, 9> kCommands = {{
    {"status", "", "health of the node in a few lines", "",
     "  nobs status\n"
     "  nobs status --address http://10.0.1.7:7001 --token-file token\n"
     "  nobs status >/dev/null || echo \"exit code $?\"\n"},
    {"devices", "[N]", "the Neuron devices and their health", "",
     "  nobs devices\n"
     "  nobs devices -o wide\n"
     "  nobs devices 3 -o yaml\n"
     "  nobs devices --watch\n"},
    {"faults", "", "active faults and warnings",
     "  --device N           only this device\n"
     "  --class CLASS        only this class, such as HBMUncorrectable\n"
     "  --severity SEVERITY  only Fatal or Warning\n",
     "  nobs faults\n"
     "  nobs faults --severity Fatal -o json\n"
     "  nobs faults --device 3 -o wide\n"},
    {"metrics", "[TEXT]", "the agent's metrics; only series that contain TEXT", "",
     "  nobs metrics\n"
     "  nobs metrics ecc_errors\n"
     "  nobs metrics 'neuron_device=\"3\"' -o json\n"},
    {"snapshot", "", "all that the last cycle read and judged, as JSON or YAML",
     "  --device N           only this device\n",
     "  nobs snapshot\n"
     "  nobs snapshot --device 3 -o yaml\n"
     "  nobs snapshot --watch | jq -c .health\n"},
    {"watch", "", "changes as they happen, until interrupted", "",
     "  nobs watch\n"
     "  nobs watch -o json | jq -r .message\n"},
    {"top", "", "devices and cores live, on the whole screen; q ends it",
     "  --interval DURATION  time between two frames (default 1s)\n",
     "  nobs top\n"
     "  nobs top --interval 5s\n"
     "  TERM=dumb nobs top        frames one below the other\n"},
    {"completion", "SHELL", "completion for bash, zsh or fish", "",
     "  source <(nobs completion bash)\n"
     "  nobs completion zsh > \"${fpath[1]}/_nobs\"\n"
     "  nobs completion fish > ~/.config/fish/completions/nobs.fish\n"},
    {"help", "[COMMAND]", "help for a command", "", "  nobs help devices\n"},
}};

constexpr const char* kOptions =
    "  -o, --output FORMAT  json, yaml, wide (default: a table of 80 columns)\n"
    "  -w, --watch          show again whenever something changed\n"
    "  --socket PATH        the agent's unix socket\n"
    "                       (default /run/neuron-observer/agent.sock; tried first)\n"
    "  --address URL        the agent's address (default http://127.0.0.1:7001;\n"
    "                       tried when the socket is not there)\n"
    "  --token-file FILE    Kubernetes token for an agent on another machine\n"
    "  --timeout DURATION   how long an answer may take (default 10s)\n"
    "  -h, --help           this help; --version: the version of nobs\n"
    "Colours only on a terminal, and never when NO_COLOR is set.\n";

constexpr const char* kExitCodes =
    "Exit codes:\n"
    "  0  healthy             3  the command line is wrong\n"
    "  1  unhealthy           4  the agent cannot be reached, or refuses\n"
    "  2  unknown\n"
    "metrics, watch and completion end with 0 when they did what they should.\n";

std::string padded(std::string text, size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

std::string usage_of(const Command& command) {
  std::string words = command.name;
  if (*command.words != '\0') words.append(" ").append(command.words);
  return words;
}

constexpr const char* kOptionWords =
    "--output --watch --socket --address --token-file --timeout --device --class --severity "
    "--interval --help --version";

std::string bash(const std::string& commands) {
  return "# bash completion of nobs: source <(nobs completion bash)\n"
         "_nobs() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} list\n"
         "  case $before in\n"
         "    -o|--output) list='json yaml wide table' ;;\n"
         "    --severity) list='Fatal Warning' ;;\n"
         "    completion) list='bash zsh fish' ;;\n"
         "    --socket|--token-file) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n"
         "    *) list='" +
         commands + " " + kOptionWords +
         "' ;;\n"
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$list\" -- \"$word\"))\n"
         "}\n"
         "complete -F _nobs nobs\n";
}

std::string zsh() {
  std::string text =
      "#compdef nobs\n"
      "local -a commands=(\n";
  for (const auto& command : kCommands)
    text += "  '" + std::string(command.name) + ":" + command.purpose + "'\n";
  return text +
         ")\n"
         "_arguments -s '1:command:{_describe command commands}' '*::word:' \\\n"
         "  '(-o --output)'{-o,--output}'[format]:format:(json yaml wide table)' \\\n"
         "  '(-w --watch)'{-w,--watch}'[show again whenever something changed]' \\\n"
         "  '--socket[unix socket]:file:_files' '--address[address of the agent]:url:' \\\n"
         "  '--token-file[Kubernetes token]:file:_files' '--timeout[for an answer]:duration:' \\\n"
         "  '--device[index]:index:' '--class[fault class]:class:' \\\n"
         "  '--severity[severity]:severity:(Fatal Warning)' '--interval[of top]:duration:' \\\n"
         "  '(-h --help)'{-h,--help}'[help]' '--version[version]'\n";
}

std::string fish() {
  std::string text = "complete -c nobs -f\n";
  for (const auto& command : kCommands)
    text += "complete -c nobs -n __fish_use_subcommand -a " + std::string(command.name) + " -d '" +
            command.purpose + "'\n";
  return text +
         "complete -c nobs -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'\n"
         "complete -c nobs -s o -l output -x -a 'json yaml wide table'\n"
         "complete -c nobs -s w -l watch -d 'show again whenever something changed'\n"
         "complete -c nobs -l socket -r -F -d 'unix socket'\n"
         "complete -c nobs -l address -x -d 'address of the agent'\n"
         "complete -c nobs -l token-file -r -F -d 'Kubernetes token'\n"
         "complete -c nobs -l severity -x -a 'Fatal Warning'\n"
         "complete -c nobs -l timeout -x\n"
         "complete -c nobs -l device -x\n"
         "complete -c nobs -l class -x\n"
         "complete -c nobs -l interval -x\n"
         "complete -c nobs -s h -l help\n"
         "complete -c nobs -l version\n";
}

}  // namespace

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  names.reserve(std::size(kCommands));
  for (const auto& command : kCommands) names.emplace_back(command.name);
  return names;
}

std::string help() {
  std::string text =
      "nobs shows what the Neuron Observer agent of a node knows about its devices.\n\n"
      "Usage: nobs COMMAND [options]\n\nCommands:\n";
  for (const auto& command : kCommands)
    text += "  " + padded(usage_of(command), 19) + command.purpose + "\n";
  return text + "\nOptions:\n" + kOptions + "\n" + kExitCodes +
         "\nExamples:\n"
         "  nobs status\n"
         "  nobs devices -o wide\n"
         "  nobs faults --severity Fatal -o json\n"
         "  nobs help devices\n";
}

std::string help(const std::string& name) {
  for (const auto& command : kCommands) {
    if (name != command.name) continue;
    return "nobs " + usage_of(command) + ": " + command.purpose + "\n\nOptions:\n" + command.more +
           kOptions + "\n" + kExitCodes + "\nExamples:\n" + command.examples;
  }
  return help();
}

std::optional<std::string> completion(const std::string& shell) {
  if (shell == "bash") return bash(join(command_names(), " "));
  if (shell == "zsh") return zsh();
  if (shell == "fish") return fish();
  return std::nullopt;
}

}  // namespace nobs::cli
