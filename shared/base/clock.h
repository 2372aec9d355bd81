// Time, injected: wall time for what people and the API see, steady time for deadlines.
//
// Thread-safe. Whoever waits gives a stop token; a wait ends early when it is requested.
//
//   if (!clock.wait_for(30s, stop)) return;   // asked to stop
#pragma once

#include <chrono>
#include <stop_token>

namespace nobs {

using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds>;
using SteadyTime = std::chrono::steady_clock::time_point;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime now() const = 0;
  virtual SteadyTime steady() const = 0;
  // False: stop was requested before the time was over.
  virtual bool wait_for(std::chrono::nanoseconds duration, const std::stop_token& stop) = 0;
};

class SystemClock : public Clock {
 public:
  WallTime now() const override;
  SteadyTime steady() const override;
  bool wait_for(std::chrono::nanoseconds duration, const std::stop_token& stop) override;
};

}  // namespace nobs
