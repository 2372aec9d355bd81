#include "shared/base/stop.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

namespace nobs {

void ignore_sigpipe() { signal(SIGPIPE, SIG_IGN); }

StopOnSignals::StopOnSignals(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : signals) sigaddset(&set, number);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  waiter_ = std::jthread([this, set](const std::stop_token& ending) {
    const timespec slice{0, 100'000'000};  // how soon the waiter notices that its owner is gone
    while (!ending.stop_requested()) {
      const int number = sigtimedwait(&set, nullptr, &slice);
      if (number <= 0) continue;
      if (source_.stop_requested()) _exit(128 + number);
      source_.request_stop();
    }
  });
}

}  // namespace nobs
