// nobs: shows what the Neuron Observer agent of a node knows. For people on the node, and for scripts by its exit code.
#include <cstdio>

#include "agent/nobs/arguments.h"
#include "agent/nobs/commands.h"
#include "agent/nobs/help.h"
#include "agent/nobs/terminal.h"
#include "shared/base/stop.h"

using namespace nobs;

int main(int argc, char** argv) {
  ignore_sigpipe();
  const cli::Interrupt interrupt;
  const auto parsed = cli::parse_arguments({argv + 1, argv + argc});
  if (!parsed) {
    std::fprintf(stderr, "nobs: %s\n`nobs --help` shows what is accepted\n",
                 parsed.error().message.c_str());
    return 3;
  }
  const cli::Arguments& arguments = *parsed;
  if (arguments.wants_version) {
    cli::write_out("nobs " NOBS_VERSION "\n");
    return 0;
  }
  if (arguments.wants_help || arguments.command == "help") {
    const bool is_topic = arguments.command == "help" && !arguments.words.empty();
    cli::write_out(cli::help(is_topic                      ? arguments.words[0]
                             : arguments.command == "help" ? ""
                                                           : arguments.command));
    return 0;
  }
  if (arguments.command.empty()) {
    std::fprintf(stderr, "%s", cli::help().c_str());
    return 3;
  }
  if (arguments.command == "completion") {
    const auto script = cli::completion(arguments.words.empty() ? "" : arguments.words[0]);
    if (!script) {
      std::fprintf(stderr, "nobs: completion needs a shell: bash, zsh or fish\n");
      return 3;
    }
    cli::write_out(*script);
    return 0;
  }
  return cli::run_command(arguments, interrupt.token());
}
