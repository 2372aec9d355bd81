// Keys to work on: each at most once in the queue, never worked on by two at a time, failures retried with backoff.
//
// As client-go's workqueue. Thread-safe. A key added while it is being worked on is worked on again afterwards.
//
//   while (auto key = queue.take(stop)) {
//     const bool done = work(*key);
//     if (done) queue.forget(*key); else queue.retry(*key);
//     queue.done(*key);
//   }
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "shared/base/backoff.h"
#include "shared/base/clock.h"

namespace nobs::runtime {

class WorkQueue {
 public:
  // Waits of a key that fails again and again: 5 ms doubling to `maximum` (client-go: 5 ms to 1,000 s).
  WorkQueue(Clock& clock, Random random,
            Backoff::Options backoff = {std::chrono::milliseconds(5),
                                        std::chrono::milliseconds(30'000), 0.2});
  ~WorkQueue();

  void add(const std::string& key);
  // Not before `delay` has passed; an earlier time for the same key wins.
  void add_after(const std::string& key, std::chrono::nanoseconds delay);
  void retry(const std::string& key);
  void forget(const std::string& key);
  // The next key, waiting for one; nothing once stop is requested.
  std::optional<std::string> take(const std::stop_token& stop);
  void done(const std::string& key);
  // Forgets every key and every delay: for a leader that stopped leading.
  void clear();

  size_t waiting() const;  // keys that could be taken now

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nobs::runtime
