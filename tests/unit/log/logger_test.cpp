#include "shared/log/logger.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "shared/base/unique_fd.h"

namespace nobs::log {
namespace {

Logger to(std::vector<std::string>& lines, Level level = Level::Info) {
  return Logger({.component = "agent",
                 .level = level,
                 .now = [] { return WallTime(std::chrono::microseconds(1'796'040'000'123'456)); },
                 .sink = [&lines](std::string_view line) { lines.emplace_back(line); }});
}

// Runs `body` in a child whose stdout is `fd`; its exit code, or -1 when it did not end within 10 s by itself.
int in_child(int fd, void (*body)()) {
  std::fflush(stdout);  // what waits there would be written by both
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(10);
    if (fd >= 0) {
      ::dup2(fd, STDOUT_FILENO);
    } else {
      ::close(STDOUT_FILENO);
    }
    body();
    ::_exit(42);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void log_a_lot() {
  const Logger logger({.component = "agent"});
  for (int i = 0; i < 200; ++i) logger.info("line", {{"value", std::string(900, 'x')}});
}

TEST_CASE("a line is one JSON object: time, level, component, message, then the fields as given") {
  std::vector<std::string> lines;
  to(lines).info("device verdict changed", {{"device", "3"}, {"health", "unhealthy"}});
  REQUIRE(lines.size() == 1);
  CHECK(lines[0] == R"({"ts":"2026-11-30T12:00:00.123456Z","level":"info","component":"agent",)"
                    R"("msg":"device verdict changed","device":"3","health":"unhealthy"})");
}

TEST_CASE("text from outside cannot break out of its field or its line") {
  std::vector<std::string> lines;
  to(lines).warn("m", {{"a\"b", "he said \"hi\"\\\n\r\t\x01\x7f"}});
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].ends_with(R"("msg":"m","a\"b":"he said \"hi\"\\\n\r\t\u0001\u007f"})"));
}

TEST_CASE("bytes that are no UTF-8 become replacement characters, as JSON must be UTF-8") {
  std::vector<std::string> lines;
  to(lines).error("m", {{"k", "a\xff"}});
  CHECK(lines.at(0).ends_with("\"k\":\"a\xEF\xBF\xBD\"}"));
}

TEST_CASE("a value is cut to 1,024 bytes, and never inside a character") {
  std::vector<std::string> lines;
  const auto logger = to(lines);
  logger.info("m", {{"k", std::string(5000, 'x')}});
  logger.info("m", {{"k", std::string(1000, 'x')}});
  const auto value = [&](size_t i) {
    const size_t begin = lines.at(i).find("\"k\":\"") + 5;
    return lines[i].substr(begin, lines[i].size() - begin - 2);
  };
  CHECK(value(0).size() == 1024);
  CHECK(value(0).ends_with("x\xE2\x80\xA6"));
  CHECK(value(1) == std::string(1000, 'x'));
}

TEST_CASE("what is below the level is not written") {
  std::vector<std::string> lines;
  const auto logger = to(lines, Level::Warn);
  logger.debug("d");
  logger.info("i");
  logger.warn("w");
  logger.error("e");
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].find("\"level\":\"warn\"") != std::string::npos);
  CHECK(lines[1].find("\"level\":\"error\"") != std::string::npos);
}

TEST_CASE("a sink is called by one thread at a time") {
  std::vector<std::string> lines;  // not thread-safe: TSan and the count tell
  const auto logger = to(lines);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 500; ++i) logger.info("m", {{"k", std::to_string(i)}});
      });
    }
  }
  CHECK(lines.size() == 2000);
}

TEST_CASE("lines of many threads arrive whole on stdout") {
  const UniqueFd file(::memfd_create("stdout", MFD_CLOEXEC));
  REQUIRE(file);
  const int code = in_child(file.get(), [] {
    const Logger logger({.component = "agent"});
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&logger, t] {
        for (int i = 0; i < 100; ++i) {
          logger.info("m", {{"k", std::string(1000, static_cast<char>('a' + t))}});
        }
      });
    }
  });
  std::string text(size_t{1} << 20, ' ');
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), 0);
  text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  CHECK(code == 42);
  size_t whole = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    REQUIRE(end != std::string::npos);
    const std::string line = text.substr(begin, end - begin);
    const size_t key = line.find("\"k\":\"");
    REQUIRE(key != std::string::npos);
    const std::string value = line.substr(key + 5, 1000);
    if (line.starts_with("{\"ts\":") && value == std::string(1000, value[0]) &&
        line.size() == key + 5 + 1000 + 2) {
      ++whole;
    }
    begin = end + 1;
  }
  CHECK(whole == 400);
}

TEST_CASE("a reader of stdout that went away does not end the process") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const UniqueFd writing(ends[1]);
  ::close(ends[0]);
  CHECK(in_child(writing.get(), log_a_lot) == 42);
}

TEST_CASE("a closed stdout or a full disk does not end the process") {
  CHECK(in_child(-1, log_a_lot) == 42);
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  REQUIRE(full);
  CHECK(in_child(full.get(), log_a_lot) == 42);
}

}  // namespace
}  // namespace nobs::log
