// nobs as people run it: a process with arguments, against servers that play an agent, well-behaved or not.
#include <doctest/doctest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <thread>

#include "shared/net/server.h"
#include "tests/scenarios/process.h"
#include "tests/support/directory.h"
#include "tests/support/eventually.h"
#include "tests/unit/agent/nobs/answers.h"
#include "tests/unit/net/raw.h"

using namespace nobs;
using namespace nobs::cli::test;
using namespace std::chrono_literals;
using nobs::test::Directory;
using nobs::test::eventually;
using nobs::test::Process;

namespace {

struct Ran {
  int code = -1;
  std::string output;  // both streams

  bool has(std::string_view part) const { return output.find(part) != std::string::npos; }
};

Ran run(std::vector<std::string> arguments, const std::string& place,
        std::vector<std::string> environment = {}) {
  static std::atomic<int> number = 0;
  arguments.insert(arguments.begin(), NOBS_PROGRAM);
  Process process(std::move(arguments), place + "/out" + std::to_string(++number),
                  std::move(environment));
  const auto code = process.wait(30s);
  return {code.value_or(-1), process.output()};
}

// An agent as far as nobs asks.
struct FakeAgent {
  Directory place;
  net::Handler special;  // asked first; status 0 and no stream: not special
  std::atomic<bool> healthy = false;
  net::Server server;

  explicit FakeAgent(net::Handler special_ = {}, bool on_socket = false)
      : special(std::move(special_)),
        server({.address = on_socket ? "" : "127.0.0.1",
                .unix_socket = on_socket ? place.path("agent.sock") : ""},
               [this](const net::Request& request) { return answer(request); }) {
    REQUIRE(server.start());
  }

  net::Answer answer(const net::Request& request) const {
    if (special) {
      auto said = special(request);
      if (said.status != 0) return said;
    }
    const std::string path = request.target.substr(0, request.target.find('?'));
    const auto json = [](const json::Value& value) { return net::Answer(200, {}, dump(value)); };
    if (path == "/api/v1alpha1/snapshot") {
      auto value = snapshot();
      if (healthy) value["health"] = "healthy";
      return json(value);
    }
    if (path == "/api/v1alpha1/devices") return json(devices());
    if (path == "/api/v1alpha1/devices/0") return json(devices()["items"].items()[0]);
    if (path == "/api/v1alpha1/faults") return json(faults());
    if (path == "/metrics") return {200, {}, "a{x=\"1\"} 5\nb 6\n"};
    return {404, {}, R"({"detail": "there is no device 9 on this node"})"};
  }

  std::string address() const { return "--address=127.0.0.1:" + std::to_string(server.port()); }
  Ran nobs(std::vector<std::string> arguments, std::vector<std::string> environment = {}) const {
    arguments.push_back(address());
    return run(std::move(arguments), place.path(), std::move(environment));
  }
};

}  // namespace

TEST_CASE("each command shows what the agent says, and ends with the health") {
  FakeAgent agent;
  auto ran = agent.nobs({"status"});
  CHECK(ran.code == 1);
  CHECK(ran.has("node-a (trn2.48xlarge)"));
  CHECK_FALSE(ran.has("\x1b"));  // no terminal, no colours
  ran = agent.nobs({"devices"});
  CHECK(ran.code == 1);
  CHECK(ran.has("neuron1  unhealthy  HBMUncorrectable"));
  ran = agent.nobs({"devices", "0"});
  CHECK(ran.code == 0);
  CHECK(ran.has("neuron0  healthy"));
  ran = agent.nobs({"faults", "--severity", "Fatal"});
  CHECK(ran.code == 1);
  ran = agent.nobs({"metrics", "x="});
  CHECK(ran.code == 0);
  CHECK(ran.output == "VALUE  NAME  LABELS\n5      a     x=\"1\"\n");
  ran = agent.nobs({"snapshot"});
  REQUIRE(json::parse(ran.output));
  CHECK((*json::parse(ran.output))["node"].string_or("") == "node-a");
  ran = agent.nobs({"devices", "0", "-o", "yaml"});
  CHECK(ran.has("serialNumber: \"00000000000000a0\"\n"));
  agent.healthy = true;
  CHECK(agent.nobs({"status"}).code == 0);
}

TEST_CASE("the command line is checked before anybody is asked") {
  const Directory place;
  CHECK(run({"stauts"}, place.path()).code == 3);
  CHECK(run({}, place.path()).code == 3);
  CHECK(run({"completion", "tcsh"}, place.path()).code == 3);
  CHECK(run({"--help"}, place.path()).has("Exit codes:"));
  CHECK(run({"devices", "--help"}, place.path()).has("nobs devices 3 -o yaml"));
  CHECK(run({"help", "top"}, place.path()).has("q ends it"));
  CHECK(run({"completion", "bash"}, place.path()).code == 0);
  CHECK(run({"--version"}, place.path()).has("nobs "));
}

TEST_CASE("the completion for bash is bash, and completes") {
  const Directory place;
  const auto script = run({"completion", "bash"}, place.path()).output;
  const auto file = place.file("completion", script +
                                                 "\nCOMP_WORDS=(nobs dev); COMP_CWORD=1; _nobs; "
                                                 "echo \"${COMPREPLY[*]}\"\n");
  Process bash({"bash", "--norc", file}, place.path("out"));
  CHECK(bash.wait(20s) == 0);
  CHECK(bash.output() == "devices\n");
}

TEST_CASE("the socket comes first, and an agent that is nowhere is named") {
  FakeAgent agent({}, true);
  const auto socket = agent.place.path("agent.sock");
  CHECK(run({"devices", "0", "--socket", socket}, agent.place.path()).code == 0);
  const auto none = run({"status", "--socket", agent.place.path("none")}, agent.place.path());
  CHECK(none.code == 4);
  CHECK(none.has("cannot reach the agent at"));
}

TEST_CASE("a token is sent to an address, read from its file, and never shown") {
  std::mutex mutex;
  std::string seen;
  FakeAgent agent([&](const net::Request& request) -> net::Answer {
    const std::lock_guard lock(mutex);
    const auto* header = request.headers.find("Authorization");
    seen = header == nullptr ? "" : *header;
    return {};
  });
  const auto token = agent.place.file("token", "s3cret\n");
  CHECK(agent.nobs({"devices", "0", "--token-file", token}).code == 0);
  CHECK(seen == "Bearer s3cret");
  const auto missing = agent.nobs({"status", "--token-file", "/nowhere"});
  CHECK(missing.code == 3);
  CHECK(missing.has("--token-file"));
}

TEST_CASE("refusals say what to do") {
  int status = 401;
  FakeAgent agent([&](const net::Request&) -> net::Answer {
    return {status, {}, "{\"detail\": \"because \\u001b[31m\"}"};
  });
  auto ran = agent.nobs({"status"});
  CHECK(ran.code == 4);
  CHECK(ran.has("--token-file"));
  const auto token = agent.place.file("token", "x");
  ran = agent.nobs({"status", "--token-file", token});
  CHECK(ran.has("does not accept the token"));
  CHECK(ran.has("because \\x1b[31m"));
  status = 403;
  CHECK(agent.nobs({"watch"}).code == 4);
  status = 404;
  ran = agent.nobs({"faults"});
  CHECK(ran.code == 4);
  CHECK(ran.has("older version"));
  status = 503;
  ran = agent.nobs({"status"});
  CHECK(ran.code == 2);
  CHECK(ran.has("not ready: because"));
  status = 500;
  CHECK(agent.nobs({"status"}).has("HTTP 500"));
}

TEST_CASE("a device that is not there is a mistake of who asks") {
  const FakeAgent agent;
  const auto ran = agent.nobs({"devices", "9"});
  CHECK(ran.code == 3);
  CHECK(ran.has("there is no device 9"));
}

TEST_CASE("answers that are slow, cut, huge or garbage end with a message") {
  std::string mode;
  FakeAgent agent([&](const net::Request&) -> net::Answer {
    net::Answer answer(200, {}, "");
    if (mode == "slow") {
      answer.stream = [](const net::Writer& write) { eventually(20s, [&] { return !write(""); }); };
    } else if (mode == "cut") {
      answer.stream = [](const net::Writer& write) { write("{\"health\": \"heal"); };
      answer.cut = [] { return true; };
    } else if (mode == "huge") {
      answer.stream = [](const net::Writer& write) {
        for (const std::string piece(1U << 20, ' '); write(piece);) {
        }
      };
    } else {
      answer.body = mode;
    }
    return answer;
  });
  for (const auto* command : {"status", "devices", "top"}) {
    mode = "slow";
    auto ran = agent.nobs({command, "--timeout", "300ms"});
    CHECK(ran.code == 4);
    CHECK(ran.has("--timeout gives it more time"));
    mode = "cut";
    CHECK(agent.nobs({command}).code == 4);
    mode = "huge";
    ran = agent.nobs({command});
    CHECK(ran.code == 4);
    CHECK(ran.has("larger than"));
    for (const auto* garbage : {"<html>\x1b[2J", "[1]", "", "{\"a\": \xff}"}) {
      mode = garbage;
      ran = agent.nobs({command});
      CHECK(ran.code == 4);
      CHECK(ran.has("no Neuron Observer agent"));
      CHECK_FALSE(ran.has("\x1b"));
    }
  }
  mode = "{}";
  const auto ran = agent.nobs({"status"});
  CHECK(ran.code == 2);
  CHECK(ran.has("nothing about health"));
}

TEST_CASE("what does not even speak HTTP ends with a message") {
  const nobs::test::RawServer raw([](nobs::test::Talk& talk, int) {
    talk.request();
    talk.send("SSH-2.0-OpenSSH\r\n\x1b[2J\r\n\r\n");
  });
  const Directory place;
  for (const auto* command : {"status", "watch", "metrics"}) {
    const auto ran =
        run({command, "--address", "127.0.0.1:" + std::to_string(raw.port())}, place.path());
    CHECK(ran.code == 4);
    CHECK(ran.has("cannot reach the agent"));
    CHECK_FALSE(ran.has("\x1b"));
  }
}

TEST_CASE("watch shows events, goes on behind the last one, and ends when asked to") {
  std::atomic<int> streams = 0;
  std::string resumed;
  FakeAgent agent([&](const net::Request& request) -> net::Answer {
    net::Answer answer(200, {}, "");
    answer.headers.set("Content-Type", "text/event-stream");
    const bool first = streams++ == 0;
    if (const auto* id = request.headers.find("Last-Event-ID")) resumed = *id;
    answer.stream = [first](const net::Writer& write) {
      write(first
                ? "id: 41\ndata: {\"at\":\"2026-11-30T14:00:00Z\",\"kind\":\"FaultBegan\","
                  "\"message\":\"bad\\u001b[31m\"}\n\n"
                : ": nothing\n\nid: 42\ndata: {\"kind\":\"HealthChanged\",\"to\":\"healthy\"}\n\n");
      if (!first) eventually(20s, [&] { return !write(""); });
    };
    return answer;
  });
  Process process({NOBS_PROGRAM, "watch", agent.address()}, agent.place.path("watch"));
  const auto has = [&](const char* part) {
    return process.output().find(part) != std::string::npos;
  };
  REQUIRE(eventually(20s, [&] { return has("HealthChanged"); }));
  CHECK(has("2026-11-30T14:00:00Z  FaultBegan  bad\\x1b[31m\n"));
  CHECK(resumed == "41");
  process.signal(SIGINT);
  CHECK(process.wait(5s) == 0);
}

TEST_CASE("--watch shows again what changed, not what only grew older") {
  std::atomic<int> asked = 0;
  FakeAgent agent([&](const net::Request&) -> net::Answer {
    ++asked;
    return {};
  });
  Process process({NOBS_PROGRAM, "snapshot", "--watch", agent.address()},
                  agent.place.path("watch"));
  const auto lines = [&] {
    const auto text = process.output();
    return std::count(text.begin(), text.end(), '\n');
  };
  REQUIRE(eventually(20s, [&] { return lines() == 1; }));
  REQUIRE(eventually(20s, [&] { return asked >= 4; }));  // two rounds of asking and waiting
  CHECK(lines() == 1);
  agent.healthy = true;
  REQUIRE(eventually(20s, [&] { return lines() == 2; }));
  process.signal(SIGTERM);
  CHECK(process.wait(5s) == 0);
}

TEST_CASE("top without a terminal prints frames, one below the other") {
  FakeAgent agent;
  Process process({NOBS_PROGRAM, "top", "--interval", "100ms", agent.address()},
                  agent.place.path("top"), {"TERM=xterm"});
  const auto frames = [&] {
    const auto text = process.output();
    size_t count = 0;
    for (size_t at = text.find("cores: ."); at != std::string::npos;
         at = text.find("cores: .", at + 1))
      ++count;
    return count;
  };
  REQUIRE(eventually(20s, [&] { return frames() >= 2; }));
  process.signal(SIGINT);
  CHECK(process.wait(5s) == 1);
  CHECK(process.output().find('\x1b') == std::string::npos);
}

namespace {

// nobs on a terminal of its own.
struct OnTerminal {
  int fd = -1;
  pid_t pid = -1;
  std::string seen;
  std::optional<int> code;

  explicit OnTerminal(std::vector<std::string> arguments, const char* term = "xterm") {
    winsize size{24, 80, 0, 0};
    std::vector<char*> argv;
    arguments.insert(arguments.begin(), NOBS_PROGRAM);
    for (auto& word : arguments) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid = ::forkpty(&fd, nullptr, nullptr, &size);
    if (pid == 0) {
      ::setenv("TERM", term, 1);
      ::unsetenv("NO_COLOR");
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
  }
  ~OnTerminal() {
    if (!code) ::kill(pid, SIGKILL), ::waitpid(pid, nullptr, 0);
    ::close(fd);
  }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;

  void read_more() {
    pollfd waiting{fd, POLLIN, 0};
    if (::poll(&waiting, 1, 5) <= 0) return;
    char buffer[4096];
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got > 0) seen.append(buffer, static_cast<size_t>(got));
  }
  bool sees(const std::string& part) {
    return eventually(20s, [&] {
      read_more();
      return seen.find(part) != std::string::npos;
    });
  }
  int end() {
    eventually(20s, [&] {
      read_more();
      int status = 0;
      if (::waitpid(pid, &status, WNOHANG) != pid) return false;
      code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      return true;
    });
    for (int i = 0; i < 10; ++i) read_more();
    return code.value_or(-1);
  }
  bool echoes() const {
    termios settings{};
    return ::tcgetattr(fd, &settings) == 0 && (settings.c_lflag & ECHO) != 0 &&
           (settings.c_lflag & ICANON) != 0;
  }
  bool is_given_back() const { return seen.ends_with("\x1b[0m\x1b[?25h\x1b[?1049l"); }
};

}  // namespace

TEST_CASE("top takes the screen, follows its size, and gives it back") {
  FakeAgent agent;
  OnTerminal top({"top", "--interval", "60s", agent.address()});
  REQUIRE(top.sees("\x1b[?1049h"));
  REQUIRE(top.sees("cores: ."));
  CHECK(top.sees("\x1b[31m"));  // colours
  CHECK_FALSE(top.echoes());
  top.seen.clear();
  const winsize small{10, 30, 0, 0};
  ::ioctl(top.fd, TIOCSWINSZ, &small);
  CHECK(top.sees("cores: . free  + memory in us…"));  // long before the next frame is due
  REQUIRE(::write(top.fd, "q", 1) == 1);
  CHECK(top.end() == 1);
  CHECK(top.is_given_back());
  CHECK(top.echoes());
}

TEST_CASE("top gives the screen back on every signal that ends it") {
  FakeAgent agent;
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT, SIGSEGV}) {
    OnTerminal top({"top", "--interval", "10s", agent.address()});
    REQUIRE(top.sees("cores: ."));
    ::kill(top.pid, number);
    const bool is_crash = number == SIGABRT || number == SIGSEGV;
    CHECK(top.end() == (is_crash ? 128 + number : 1));
    CHECK(top.is_given_back());
    CHECK(top.echoes());
  }
}

TEST_CASE("a dumb terminal gets plain frames and plain tables") {
  FakeAgent agent;
  OnTerminal top({"top", "--interval", "100ms", agent.address()}, "dumb");
  REQUIRE(top.sees("cores: ."));
  ::kill(top.pid, SIGINT);
  CHECK(top.end() == 1);
  CHECK(top.seen.find('\x1b') == std::string::npos);
}

TEST_CASE("colours are for terminals") {
  FakeAgent agent;
  OnTerminal devices({"devices", agent.address()});
  CHECK(devices.end() == 1);
  CHECK(devices.seen.find("\x1b[31munhealthy\x1b[0m") != std::string::npos);
}
