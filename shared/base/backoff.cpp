#include "shared/base/backoff.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <random>
#include <utility>

namespace nobs {

Random system_random() {
  struct State {
    std::mutex mutex;
    std::mt19937_64 engine{std::random_device{}()};
  };
  return [state = std::make_shared<State>()] {
    const std::lock_guard lock(state->mutex);
    return std::uniform_real_distribution<double>(0.0, 1.0)(state->engine);
  };
}

Backoff::Backoff(Options options, Random random)
    : options_(options), random_(std::move(random)), base_(options.initial) {}

std::chrono::milliseconds Backoff::next() {
  const auto delay = std::min(base_, options_.maximum);
  base_ = std::min(delay * 2, options_.maximum);
  const auto extra = static_cast<double>(delay.count()) * options_.jitter * random_();
  return delay + std::chrono::milliseconds(static_cast<long long>(extra));
}

}  // namespace nobs
