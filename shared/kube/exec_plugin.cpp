#include "shared/kube/exec_plugin.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <thread>

#include "shared/base/strings.h"
#include "shared/base/unique_fd.h"
#include "shared/json/value.h"

namespace nobs::kube {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr size_t kMaxOutput = 1 << 20;
constexpr size_t kMaxComplaint = 2048;           // of its standard error, for our message
constexpr std::chrono::milliseconds kSlice{20};  // how soon stop and an exit are noticed

std::string reason(int number) { return std::generic_category().message(number); }

struct Pipe {
  UniqueFd read, write;
};

bool open_pipe(Pipe& pipe) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return false;
  pipe.read.reset(fds[0]);
  pipe.write.reset(fds[1]);
  ::fcntl(fds[0], F_SETFL, O_NONBLOCK);
  return true;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> environment_for(const ExecPlugin& plugin) {
  const auto request = json::object({{"apiVersion", plugin.api_version},
                                     {"kind", "ExecCredential"},
                                     {"spec", json::object({{"interactive", false}})}});
  auto ours = plugin.env;
  ours.emplace_back("KUBERNETES_EXEC_INFO", json::dump(request));
  std::vector<std::string> result;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    const bool replaced =
        std::any_of(ours.begin(), ours.end(), [&](const auto& pair) { return pair.first == name; });
    if (!replaced) result.emplace_back(text);
  }
  for (const auto& [name, value] : ours) result.push_back(name + "=" + value);
  return result;
}

// 0, or an errno. The child leads a process group of its own, with no signal blocked or ignored.
int spawn(const ExecPlugin& plugin, int output, int complaints, pid_t& pid) {
  std::vector<std::string> arguments = {plugin.command};
  arguments.insert(arguments.end(), plugin.args.begin(), plugin.args.end());
  std::vector<std::string> environment = environment_for(plugin);
  const auto argv = pointers(arguments);
  const auto envp = pointers(environment);

  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, complaints, STDERR_FILENO);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const int failure =
      ::posix_spawnp(&pid, plugin.command.c_str(), &files, &attributes, argv.data(), envp.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return failure;
}

// False when the pipe has ended. Keeps the first `max` bytes, `lost` says that there were more.
bool drain(const UniqueFd& fd, std::string& kept, size_t max, bool& lost) {
  char buffer[8192];
  for (;;) {
    const ssize_t size = ::read(fd.get(), buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno == EAGAIN;
    if (size == 0) return false;
    const size_t room = max - kept.size();
    lost = lost || static_cast<size_t>(size) > room;
    kept.append(buffer, std::min(static_cast<size_t>(size), room));
    if (lost && kept.size() >= kMaxOutput) return true;  // no use in reading on
  }
}

// Kills and reaps the child and whatever it started, however we leave.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (!running_) return;
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  bool has_ended(int& status) {
    // WNOWAIT first: while the child is a zombie its process group id cannot be somebody else's.
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid == 0) {
      return false;
    }
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, &status, 0);
    running_ = false;
    return true;
  }

 private:
  pid_t pid_;
  bool running_ = true;
};

std::string ending(int status) {
  if (WIFSIGNALED(status)) return "was ended by signal " + std::to_string(WTERMSIG(status));
  return "ended with code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Result<ExecCredential> run_exec_plugin(const ExecPlugin& plugin, std::chrono::milliseconds limit,
                                       const std::stop_token& stop) {
  const std::string name = "credential plugin " + printable(plugin.command, 200);
  const auto deadline = SteadyClock::now() + limit;
  Pipe output;
  Pipe complaints;
  if (!open_pipe(output) || !open_pipe(complaints)) {
    return Error{ErrorCode::Unreachable, name + ": no pipe: " + reason(errno), 0, {}};
  }
  pid_t pid = 0;
  if (const int failure = spawn(plugin, output.write.get(), complaints.write.get(), pid)) {
    std::string message = name + " cannot be run: " + reason(failure);
    if (!plugin.install_hint.empty()) message += ". " + printable(plugin.install_hint, 500);
    return invalid(message);
  }
  Child child(pid);
  output.write.reset();
  complaints.write.reset();

  std::string text;
  std::string complaint;
  bool too_much = false;
  bool ignored = false;
  int status = 0;
  for (bool ended = false; !ended;) {
    if (stop.stop_requested()) return Error{ErrorCode::Stopped, name + ": asked to stop", 0, {}};
    if (SteadyClock::now() >= deadline) {
      return Error{ErrorCode::Timeout,
                   name + " did not end within " + std::to_string(limit.count()) + " ms",
                   0,
                   {}};
    }
    std::array<pollfd, 2> fds = {
        {{output.read.get(), POLLIN, 0}, {complaints.read.get(), POLLIN, 0}}};
    if (::poll(fds.data(), fds.size(), static_cast<int>(kSlice.count())) < 0 && errno != EINTR) {
      return Error{ErrorCode::Unreachable, name + ": poll: " + reason(errno), 0, {}};
    }
    ended = child.has_ended(status);  // before the last reading, so that nothing is missed
    if (output.read && !drain(output.read, text, kMaxOutput, too_much)) output.read.reset();
    if (complaints.read && !drain(complaints.read, complaint, kMaxComplaint, ignored)) {
      complaints.read.reset();
    }
    if (too_much) return invalid(name + " printed more than 1 MiB");
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Error{ErrorCode::Unauthorized,
                 name + " " + ending(status) + ": " + printable(trim(complaint), 500),
                 0,
                 {}};
  }
  auto credential = parse_exec_credential(text, plugin.api_version);
  if (!credential) return invalid(name + ": " + credential.error().message);
  return credential;
}

}  // namespace nobs::kube
