#include "tests/support/fake_clock.h"

namespace nobs::test {

WallTime FakeClock::now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

SteadyTime FakeClock::steady() const {
  const std::lock_guard lock(mutex_);
  return steady_;
}

bool FakeClock::wait_for(std::chrono::nanoseconds duration, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const SteadyTime until = steady_ + duration;
  ++waiting_;
  changed_.wait(lock, stop, [&] { return steady_ >= until; });
  --waiting_;
  return !stop.stop_requested();
}

void FakeClock::advance(std::chrono::nanoseconds duration) {
  {
    const std::lock_guard lock(mutex_);
    now_ += duration;
    steady_ += duration;
  }
  changed_.notify_all();
}

int FakeClock::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_;
}

}  // namespace nobs::test
