// Turns signals into one stop source for the whole program.
//
// Call once, first thing in main, before any thread exists: every thread inherits the blocked signals, and one thread
// waits for them. A second signal ends the process at once.
//
//   StopOnSignals signals({SIGTERM, SIGINT});
//   run(signals.token());
#pragma once

#include <initializer_list>
#include <stop_token>
#include <thread>

namespace nobs {

// A peer that closed its connection must be an error of write(), not the end of the process.
void ignore_sigpipe();

class StopOnSignals {
 public:
  explicit StopOnSignals(std::initializer_list<int> signals);

  std::stop_token token() const { return source_.get_token(); }
  void request() { source_.request_stop(); }

 private:
  std::stop_source source_;
  std::jthread waiter_;
};

}  // namespace nobs
