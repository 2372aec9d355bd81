// A child process of a test: started with arguments, its output in a file, killed with its owner.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/unique_fd.h"

namespace nobs::test {

class Process {
 public:
  // Output (both streams) goes to `log`, appended. Standard input is a pipe that closes when this object goes, so that
  // programs that live with their standard input end even when the test is killed. Throws when it cannot be started.
  Process(std::vector<std::string> command, std::string log,
          std::vector<std::string> environment = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  bool is_running();
  void signal(int number);
  // The exit code (128 + signal when killed); nothing when it has not ended by then.
  std::optional<int> wait(std::chrono::milliseconds limit);
  // SIGTERM, then SIGKILL after `grace`; the exit code.
  int stop(std::chrono::milliseconds grace = std::chrono::seconds(10));
  void kill();

  std::string output() const;

 private:
  pid_t pid_ = -1;
  std::optional<int> exit_code_;
  std::string log_;
  UniqueFd input_;
};

}  // namespace nobs::test
