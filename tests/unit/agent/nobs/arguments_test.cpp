#include "agent/nobs/arguments.h"

#include <doctest/doctest.h>

#include "agent/nobs/help.h"
#include "shared/base/strings.h"

using namespace nobs;
using namespace nobs::cli;

namespace {

Arguments parsed(const std::vector<std::string>& words) {
  const auto arguments = parse_arguments(words);
  REQUIRE(arguments);
  return *arguments;
}

std::string mistake(const std::vector<std::string>& words) {
  const auto arguments = parse_arguments(words);
  REQUIRE_FALSE(arguments);
  return arguments.error().message;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("options stand before or behind the command, with = or a space") {
  auto arguments = parsed({"-o", "json", "devices", "neuron3", "--address=http://a:1"});
  CHECK(arguments.command == "devices");
  CHECK(arguments.format == Format::Json);
  CHECK(arguments.device == 3);
  CHECK(arguments.names_address);
  CHECK_FALSE(arguments.names_socket);
  CHECK(parsed({"faults", "-owide", "-w"}).format == Format::Wide);
  CHECK(parsed({"faults", "-o=yaml"}).format == Format::Yaml);
  CHECK(parsed({"top", "--interval", "5s"}).interval == std::chrono::seconds(5));
  CHECK(parsed({"metrics", "ecc"}).words == std::vector<std::string>{"ecc"});
  CHECK(parsed({}).command.empty());
}

TEST_CASE("a mistake says what is wrong and what is accepted") {
  CHECK(has(mistake({"divices"}), "did you mean devices?"));
  CHECK(has(mistake({"status", "--adress", "x"}), "did you mean --address?"));
  CHECK(has(mistake({"status", "-o", "xml"}), "json, yaml, wide"));
  CHECK(has(mistake({"status", "-o"}), "needs a value"));
  CHECK(has(mistake({"devices", "1", "2"}), "\"2\" is one word too many"));
  CHECK(has(mistake({"status", "x"}), "too many"));
  CHECK(has(mistake({"devices", "x"}), "index from 0 to 255"));
  CHECK(has(mistake({"status", "--timeout", "0"}), "duration"));
  CHECK(has(mistake({"status", "--address", "https://a"}), "not https"));
  CHECK(has(mistake({"metrics", "--watch"}), "not for this command"));
  CHECK(has(mistake({"\x1b[31m"}), "\\x1b"));
}

TEST_CASE("addresses are hosts with a port, and nothing else") {
  const auto address = [](const char* text) {
    const auto result = parse_address(text);
    return result ? result->host + "|" + std::to_string(result->port) : "";
  };
  CHECK(address("10.0.1.7") == "10.0.1.7|7001");
  CHECK(address("http://node-a:80/") == "node-a|80");
  CHECK(address("[::1]:7001") == "::1|7001");
  CHECK(address("http://[fd00::1]") == "fd00::1|7001");
  for (const auto* wrong : {"", "http://", ":1", "a:0", "a:65536", "a:x", "a/b", "a b", "[::1",
                            "[]", "user@a", "a:1:2", "a\r\nX: y"})
    CHECK(address(wrong).empty());
}

TEST_CASE("each command has help with examples and the exit codes, and completion names it") {
  for (const auto& name : command_names()) {
    const auto text = help(name);
    CHECK(has(text, "Examples:\n  "));
    CHECK(has(text, "3  the command line is wrong"));
    for (const auto* shell : {"bash", "zsh", "fish"}) CHECK(has(*completion(shell), name));
    for (const auto line : split(text, '\n')) CHECK(line.size() <= 80);
  }
  for (const auto line : split(help(), '\n')) CHECK(line.size() <= 80);
  CHECK_FALSE(completion("tcsh"));
}
