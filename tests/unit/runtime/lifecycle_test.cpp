#include "shared/runtime/lifecycle.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <thread>

#include "tests/support/eventually.h"

namespace nobs::runtime {
namespace {

using namespace std::chrono_literals;

struct Fixture {
  std::vector<std::string> lines;  // written under the logger's lock
  log::Logger logger{{.component = "test", .now = {}, .sink = [this](std::string_view line) {
                        lines.emplace_back(line);
                      }}};
  std::stop_source stop;

  bool logged(const std::string& text) const {
    for (const auto& line : lines) {
      if (line.find(text) != std::string::npos) return true;
    }
    return false;
  }
};

void until_stop(const std::stop_token& stop) {
  test::eventually(20s, [&] { return stop.stop_requested(); });
}

TEST_CASE_FIXTURE(Fixture, "parts run side by side until stop; an orderly stop is 0") {
  std::atomic<int> running = 0;
  std::atomic<int> code = -1;
  const auto part = [&](const std::stop_token& token) {
    ++running;
    until_stop(token);
  };
  std::jthread program([&] {
    code = run({{"a", part}, {"b", part}}, stop.get_token(), 10s, logger);
  });
  REQUIRE(test::eventually(5s, [&] { return running == 2; }));
  stop.request_stop();
  program.join();
  CHECK(code == 0);
  CHECK(lines.empty());
}

TEST_CASE_FIXTURE(Fixture, "a part that ends by itself stops the others, is named, and is 1") {
  CHECK(run({{"wait", until_stop}, {"collect", [](const auto&) {}}}, stop.get_token(), 10s,
            logger) == 1);
  CHECK(logged(R"("msg":"part ended by itself","part":"collect")"));
  CHECK(lines.size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "what a part throws is logged with its name, and is 1") {
  const auto broken = [](const std::stop_token&) { throw std::runtime_error("no such thing"); };
  CHECK(run({{"wait", until_stop}, {"publish", broken}}, stop.get_token(), 10s, logger) == 1);
  CHECK(logged(R"("msg":"part failed","part":"publish","error":"no such thing")"));
  CHECK(run({{"odd", [](const auto&) { throw 7; }}}, stop.get_token(), 10s, logger) == 1);
  CHECK(logged(R"("part":"odd")"));
}

TEST_CASE_FIXTURE(Fixture, "what a part throws while it stops is 1 as well") {
  std::jthread stopper([&] { stop.request_stop(); });
  const auto broken = [](const std::stop_token& token) {
    until_stop(token);
    throw std::runtime_error("late");
  };
  CHECK(run({{"publish", broken}}, stop.get_token(), 10s, logger) == 1);
  CHECK(logged("late"));
}

TEST_CASE("a part that does not stop in time is named and does not keep the process") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::fflush(stdout);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(20);
    const log::Logger logger({.component = "test", .now = {}, .sink = [&](std::string_view line) {
                                if (::write(ends[1], line.data(), line.size()) < 0) ::_exit(3);
                              }});
    std::stop_source stopped;
    stopped.request_stop();
    run({{"fine", until_stop}, {"stuck", [](const auto&) { ::pause(); }}}, stopped.get_token(),
        50ms, logger);
    ::_exit(42);
  }
  ::close(ends[1]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 1);
  char buffer[1024];
  const ssize_t got = ::read(ends[0], buffer, sizeof buffer);
  ::close(ends[0]);
  const std::string text(buffer, static_cast<size_t>(std::max<ssize_t>(got, 0)));
  CHECK(text.find(R"("msg":"part did not stop in time","part":"stuck")") != std::string::npos);
  CHECK(text.find("fine") == std::string::npos);
}

}  // namespace
}  // namespace nobs::runtime
