#include "agent/nobs/terminal.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "shared/base/strings.h"

namespace nobs::cli {
namespace {

constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J";
constexpr std::string_view kLeave = "\x1b[0m\x1b[?25h\x1b[?1049l";
constexpr std::array kCrashes = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};

// What to give back; read by signal handlers, so written before `taken` is set.
termios before;
std::atomic<bool> taken = false;
std::atomic<bool> has_settings = false;

// Only async-signal-safe calls.
void give_back() {
  if (!taken.exchange(false)) return;
  [[maybe_unused]] const ssize_t written = ::write(STDOUT_FILENO, kLeave.data(), kLeave.size());
  if (has_settings) ::tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

void on_crash(int number) {
  give_back();
  ::raise(number);  // the handler was for once: now it ends the process
}

}  // namespace

bool output_is_terminal() { return ::isatty(STDOUT_FILENO) == 1; }

bool output_is_screen() {
  const char* term = std::getenv("TERM");
  return output_is_terminal() && term != nullptr && *term != '\0' &&
         std::string_view(term) != "dumb";
}

Size output_size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0)
    return {std::max<size_t>(size.ws_col, 20), std::max<size_t>(size.ws_row, 5)};
  return {};
}

bool wants_colours() {
  const char* unwanted = std::getenv("NO_COLOR");
  return output_is_screen() && (unwanted == nullptr || *unwanted == '\0');
}

bool write_out(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

Interrupt::Interrupt() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&set, number);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  waiter_ = std::jthread([this, set](const std::stop_token& ending) {
    const timespec slice{0, 50'000'000};
    while (!ending.stop_requested()) {
      const int number = sigtimedwait(&set, nullptr, &slice);
      if (number <= 0) continue;
      if (source_.stop_requested()) {
        give_back();
        _exit(128 + number);
      }
      source_.request_stop();
    }
  });
}

FullScreen::FullScreen() {
  has_settings = ::tcgetattr(STDIN_FILENO, &before) == 0;
  struct sigaction action {};
  action.sa_handler = on_crash;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  for (const int number : kCrashes) ::sigaction(number, &action, nullptr);
  taken = true;
  if (has_settings) {
    termios now = before;
    now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    now.c_cc[VMIN] = 0;
    now.c_cc[VTIME] = 0;
    now.c_cc[VSUSP] = _POSIX_VDISABLE;  // a stopped process cannot give the screen back
    ::tcsetattr(STDIN_FILENO, TCSANOW, &now);
  }
  write_out(kEnter);
}

FullScreen::~FullScreen() { give_back(); }

bool FullScreen::show(const std::string& frame) {
  std::string text = "\x1b[H";
  auto lines = split(frame, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  for (size_t i = 0; i < lines.size(); ++i)
    text.append(i == 0 ? "" : "\r\n").append(lines[i]).append("\x1b[K");
  return write_out(text + "\x1b[J");
}

Key wait_for_key(std::chrono::milliseconds duration, const Size& size,
                 const std::stop_token& stop) {
  constexpr auto kSlice = std::chrono::milliseconds(50);
  const auto end = std::chrono::steady_clock::now() + duration;
  bool listens = true;
  while (!stop.stop_requested()) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return Key::None;
    if (output_size() != size) return Key::Resized;
    pollfd input{listens ? STDIN_FILENO : -1, POLLIN, 0};
    ::poll(&input, 1, static_cast<int>(std::min<std::chrono::milliseconds>(left, kSlice).count()));
    if (input.revents == 0) continue;
    char key = 0;
    const ssize_t got = ::read(STDIN_FILENO, &key, 1);
    if (got <= 0) listens = false;  // closed: poll would tell so for ever
    if (got == 1 && (key == 'q' || key == 'Q' || key == 3)) return Key::Quit;
  }
  return Key::None;
}

}  // namespace nobs::cli
