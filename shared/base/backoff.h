// Waiting times between retries: exponential, jittered, reset by success.
//
// For whoever retries something outside the process (API server, a closed file). Not thread-safe: one Backoff belongs to
// one retrying loop.
//
//   Backoff backoff({.initial = 500ms, .maximum = 30s}, random);
//   while (!stop.stop_requested()) {
//     if (connect()) { backoff.reset(); ... }
//     else if (!clock.wait_for(backoff.next(), stop)) break;
//   }
#pragma once

#include <chrono>
#include <functional>

namespace nobs {

// Uniform in [0, 1). Injected, so that a test can say what "random" is.
using Random = std::function<double()>;
// Seeded from the system; thread-safe.
Random system_random();

class Backoff {
 public:
  struct Options {
    std::chrono::milliseconds initial{800};  // 800 ms to 30 s, doubling: client-go's reflector
    std::chrono::milliseconds maximum{30'000};
    double jitter = 0.5;  // each delay is drawn from [d, d * (1 + jitter)]
  };

  Backoff(Options options, Random random);

  // The delay before the next try; never less than `initial`, never more than maximum * (1 + jitter).
  std::chrono::milliseconds next();
  void reset() { base_ = options_.initial; }

 private:
  Options options_;
  Random random_;
  std::chrono::milliseconds base_;
};

}  // namespace nobs
