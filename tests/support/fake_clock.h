// A clock that moves only when a test says so; waiting threads wake when their time has come.
//
//   FakeClock clock;
//   clock.advance(30s);
#pragma once

#include <condition_variable>
#include <mutex>

#include "shared/base/clock.h"

namespace nobs::test {

class FakeClock : public Clock {
 public:
  // 2026-11-30T12:00:00Z unless told.
  explicit FakeClock(WallTime start = WallTime(std::chrono::seconds(1'796'040'000)))
      : now_(start) {}

  WallTime now() const override;
  SteadyTime steady() const override;
  bool wait_for(std::chrono::nanoseconds duration, const std::stop_token& stop) override;

  void advance(std::chrono::nanoseconds duration);
  // Threads inside wait_for: a test waits for one before it advances.
  int waiting() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  WallTime now_;
  SteadyTime steady_{std::chrono::hours(1)};
  int waiting_ = 0;
};

}  // namespace nobs::test
