#include "tests/scenarios/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <thread>

#include "shared/base/file.h"

extern char** environ;

namespace nobs::test {

Process::Process(std::vector<std::string> command, std::string log,
                 std::vector<std::string> environment)
    : log_(std::move(log)) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  const UniqueFd reading(ends[0]);
  input_.reset(ends[1]);
  std::vector<char*> argv;
  for (auto& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::vector<char*> env;
  for (auto& entry : environment) env.push_back(entry.data());
  for (char** entry = environ; *entry; ++entry) env.push_back(*entry);
  env.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, reading.get(), 0);
  posix_spawn_file_actions_addopen(&actions, 1, log_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  // The test's threads may block signals; the child must not inherit that.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const int failure =
      ::posix_spawnp(&pid_, argv[0], &actions, &attributes, argv.data(), env.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failure != 0)
    throw std::runtime_error("cannot start " + command[0] + ": " + std::strerror(failure));
}

Process::~Process() {
  input_.reset();
  kill();
}

bool Process::is_running() { return !wait(std::chrono::milliseconds(0)); }

void Process::signal(int number) {
  if (!exit_code_) ::kill(pid_, number);
}

std::optional<int> Process::wait(std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!exit_code_) {
    int status = 0;
    const pid_t done = ::waitpid(pid_, &status, WNOHANG);
    if (done == pid_) exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (exit_code_ || std::chrono::steady_clock::now() >= end) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return exit_code_;
}

int Process::stop(std::chrono::milliseconds grace) {
  signal(SIGTERM);
  if (const auto code = wait(grace)) return *code;
  kill();
  return *exit_code_;
}

void Process::kill() {
  signal(SIGKILL);
  wait(std::chrono::seconds(10));
}

std::string Process::output() const {
  const auto text = read_file(log_, 64U << 20);
  return text ? *text : std::string();
}

}  // namespace nobs::test
