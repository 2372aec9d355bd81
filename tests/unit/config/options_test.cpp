#include "shared/config/options.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <map>
#include <string>

#include "shared/base/file.h"
#include "tests/support/directory.h"

namespace nobs::config {
namespace {

using namespace std::chrono_literals;

// A program with one option of each kind.
struct Program {
  Program() {
    binder.text("collection.path", path, "where sysfs is mounted").env("NOBS_PATH");
    binder.duration("collection.interval", interval, "time between cycles", 100ms, 60s)
        .env("NOBS_INTERVAL");
    binder.choice("log.level", level, "what is logged", {"debug", "info", "error"});
    binder.flag("log.pretty", pretty, "for people");
    binder.integer("port", port, "where we listen", 0, 65535);
    binder.text("token", token, "for the collector").secret().env("NOBS_TOKEN");
    binder.example("program --config /etc/program.yaml");
  }
  Loaded load(std::vector<const char*> flags) {
    flags.insert(flags.begin(), "program");
    return binder.load(static_cast<int>(flags.size()), flags.data(), [this](const char* name) {
      const auto found = env.find(name);
      return found == env.end() ? nullptr : found->second.c_str();
    });
  }
  Loaded load_file(const std::string& yaml, std::vector<const char*> flags = {}) {
    file = directory.path("c.yaml");
    REQUIRE(write_file_atomically(file, yaml));
    env["NOBS_CONFIG"] = file;
    return load(std::move(flags));
  }

  const test::Directory directory;
  std::string file;
  std::map<std::string, std::string> env;
  std::string path = "/sys", level = "info", token;
  std::chrono::nanoseconds interval = 1s;
  bool pretty = false;
  std::int64_t port = 7001;
  Binder binder{"program", "Does a thing."};
};

bool has(const std::vector<std::string>& lines, const std::string& part) {
  for (const auto& line : lines) {
    if (line.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("without file, variables and flags the defaults stay") {
  Program program;
  const auto loaded = program.load({});
  CHECK(loaded.mistakes.empty());
  CHECK(loaded.warnings.empty());
  CHECK_FALSE(loaded.wants_help);
  CHECK(program.path == "/sys");
  CHECK(program.interval == 1s);
}

TEST_CASE("a flag wins over a variable, a variable over the file, the file over the default") {
  Program program;
  program.env["NOBS_INTERVAL"] = "3s";
  program.env["NOBS_PATH"] = "/env";
  const auto loaded = program.load_file(
      "collection: {path: /file, interval: 2s}\nlog: {level: debug, pretty: true}\n",
      {"--collection.interval=4s"});
  CHECK(loaded.mistakes.empty());
  CHECK(program.interval == 4s);
  CHECK(program.path == "/env");
  CHECK(program.level == "debug");
  CHECK(program.pretty);
}

TEST_CASE("flags are taken with = and with a space, a bool alone is true") {
  Program program;
  const auto loaded = program.load({"--collection.path", "/a b", "--port=-0", "--log.pretty",
                                    "--log.level", "error", "--token="});
  CHECK(loaded.mistakes.empty());
  CHECK(program.path == "/a b");
  CHECK(program.port == 0);
  CHECK(program.pretty);
  CHECK(program.level == "error");
  CHECK(program.load({"--log.pretty=false"}).mistakes.empty());
  CHECK_FALSE(program.pretty);
  CHECK(program.load({"--port=1", "--port=2"}).mistakes.empty());
  CHECK(program.port == 2);
}

TEST_CASE("every mistake is listed at once, with its place and what is accepted") {
  Program program;
  program.env["NOBS_INTERVAL"] = "soon";
  const auto loaded =
      program.load_file("port: 70000\nlog:\n  level: inf\n  pretty: 3\ncollection: [1]\n",
                        {"--port=x", "--log.levle=info", "stray", "--log.level"});
  CHECK(loaded.mistakes.size() == 9);
  CHECK(has(loaded.mistakes, "c.yaml: port: \"70000\" is out of range; accepted: 0 to 65535"));
  CHECK(has(
      loaded.mistakes,
      "c.yaml: log.level: unknown value \"inf\"; did you mean info?; accepted: debug|info|error"));
  CHECK(has(loaded.mistakes, "log.pretty: neither true nor false: \"3\"; accepted: true|false"));
  CHECK(has(loaded.mistakes, "c.yaml: collection: a section is wanted"));
  CHECK(has(loaded.mistakes, "variable NOBS_INTERVAL: not a duration: \"soon\""));
  CHECK(has(loaded.mistakes, "accepted: 100ms to 1m"));
  CHECK(has(loaded.mistakes, "flag --port: not a whole number: \"x\""));
  CHECK(has(loaded.mistakes, "unknown flag --log.levle; did you mean log.level?"));
  CHECK(has(loaded.mistakes, "unexpected argument \"stray\""));
  CHECK(has(loaded.mistakes, "flag --log.level: a value is missing"));
  CHECK(program.port == 7001);
  CHECK(program.interval == 1s);
}

TEST_CASE("unknown keys of the file are warnings with the nearest known key") {
  Program program;
  const auto loaded = program.load_file(
      "collecton:\n  path: /x\nlog:\n  levl: debug\nfrom_another_version: {a: 1, b: 2}\n");
  CHECK(loaded.mistakes.empty());
  CHECK(loaded.warnings.size() == 3);
  CHECK(has(loaded.warnings, "unknown key collecton; did you mean collection?"));
  CHECK(has(loaded.warnings, "unknown key log.levl; did you mean log.level?"));
  CHECK(has(loaded.warnings, "unknown key from_another_version"));
}

TEST_CASE("a number where text belongs is refused, since 0123 and 1.10 would arrive changed") {
  Program program;
  const auto loaded = program.load_file("token: 0123\n");
  CHECK(has(loaded.mistakes, "c.yaml: token: text is wanted, not 123; put it in quotes"));
  CHECK(program.load_file("token: \"0123\"\nport: \"80\"\n").mistakes.empty());
  CHECK(program.token == "0123");
  CHECK(program.port == 80);
}

TEST_CASE("a key without a value and an empty variable leave the default") {
  Program program;
  program.env["NOBS_PATH"] = "";
  CHECK(program.load_file("collection:\nport:\n").mistakes.empty());
  CHECK(program.path == "/sys");
  CHECK(program.port == 7001);
}

TEST_CASE("a list or a section where one value belongs is a mistake") {
  Program program;
  const auto loaded = program.load_file("port: [1]\ntoken: {a: 1}\n");
  CHECK(has(loaded.mistakes, "port: one value is wanted, not a list"));
  CHECK(has(loaded.mistakes, "token: one value is wanted, not a section"));
}

TEST_CASE("a file that is absent, no YAML or no map is a mistake that names it") {
  Program program;
  CHECK(has(program.load({"--config=/no/such/file"}).mistakes, "/no/such/file"));
  CHECK(has(program.load_file("a: [").mistakes, "c.yaml: line"));
  CHECK(has(program.load_file("- 1\n").mistakes, "c.yaml: keys and values are wanted"));
  CHECK(program.load_file("").mistakes.empty());
}

TEST_CASE("--config wins over its variable and takes both forms") {
  Program program;
  program.load_file("port: 1\n");
  const std::string other = program.directory.path("other.yaml");
  REQUIRE(write_file_atomically(other, "port: 2\n"));
  CHECK(program.load({"--config", other.c_str()}).mistakes.empty());
  CHECK(program.port == 2);
  CHECK(has(program.load({"--config"}).mistakes, "flag --config: a value is missing"));
}

TEST_CASE("help names every option with what it accepts, its default and its variable") {
  Program program;
  program.token = "";
  CHECK(program.load({"--help"}).wants_help);
  CHECK(program.load({"-h"}).wants_help);
  const std::string help = program.binder.help();
  for (const auto* part :
       {"program: Does a thing.", "--collection.interval=100ms to 1m", "default 1s",
        "variable NOBS_INTERVAL", "--log.level=debug|info|error", "where sysfs is mounted",
        "--config=FILE", "NOBS_CONFIG", "--print-config", "Examples:\n  program --config"}) {
    CAPTURE(part);
    CHECK(help.find(part) != std::string::npos);
  }
}

TEST_CASE("the printed options say where each came from, hide secrets and read back as YAML") {
  Program program;
  program.env["NOBS_TOKEN"] = "hunter2";
  const auto loaded =
      program.load_file("collection: {path: 'a \"b\": c # d'}\n", {"--port=80", "--print-config"});
  CHECK(loaded.mistakes.empty());
  CHECK(loaded.wants_config);
  const std::string printed = program.binder.printed();
  CAPTURE(printed);
  CHECK(printed.find("hunter2") == std::string::npos);
  CHECK(printed.find("token: \"***\"  # variable NOBS_TOKEN\n") != std::string::npos);
  CHECK(printed.find("port: 80  # flag --port\n") != std::string::npos);
  CHECK(printed.find("  interval: 1s  # default\n") != std::string::npos);
  const auto read = parse_yaml(printed);
  REQUIRE(read);
  CHECK((*read)["collection"]["path"].string_or("") == "a \"b\": c # d");
  CHECK((*read)["collection"]["interval"].string_or("") == "1s");
  CHECK((*read)["log"]["pretty"] == json::Value(false));
  CHECK(program.load_file(printed).mistakes.empty());
}

}  // namespace nobs::config
