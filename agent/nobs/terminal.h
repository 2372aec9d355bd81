// The terminal: what standard output is, and the whole screen for as long as an object lives.
//
// The screen is given back on every way out: the destructor, a second signal (Interrupt), a crash. One thread.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "agent/nobs/text.h"

namespace nobs::cli {

struct Size {
  size_t width = 80, height = 24;
  bool operator==(const Size&) const = default;
};

bool output_is_terminal();
// A terminal that understands cursor movement (not TERM=dumb).
bool output_is_screen();
Size output_size();    // 80 × 24 where nobody knows
bool wants_colours();  // a screen, and no NO_COLOR
// False once nobody reads any more.
bool write_out(std::string_view text);

// SIGINT, SIGTERM, SIGHUP and SIGQUIT as a stop token; a second one ends the process, the screen given back. Made first
// thing in main, before any thread.
class Interrupt {
 public:
  Interrupt();
  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::jthread waiter_;
};

// The alternate screen, without echo and cursor. At most one at a time.
class FullScreen {
 public:
  FullScreen();
  ~FullScreen();
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  // Lines end in \n; what was there before is gone. False once nobody reads.
  bool show(const std::string& frame);
};

enum class Key { None, Quit, Resized };
// Until the time is over, stop is requested, q is pressed, or the size is another than `size`.
Key wait_for_key(std::chrono::milliseconds duration, const Size& size, const std::stop_token& stop);

}  // namespace nobs::cli
