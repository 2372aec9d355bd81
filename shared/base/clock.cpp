#include "shared/base/clock.h"

#include <condition_variable>
#include <mutex>

namespace nobs {

WallTime SystemClock::now() const { return std::chrono::system_clock::now(); }

SteadyTime SystemClock::steady() const { return std::chrono::steady_clock::now(); }

bool SystemClock::wait_for(std::chrono::nanoseconds duration, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any woken;
  std::unique_lock lock(mutex);
  woken.wait_for(lock, stop, duration, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace nobs
