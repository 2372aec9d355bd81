#include "shared/runtime/work_queue.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace nobs::runtime {
namespace {

constexpr std::chrono::minutes kLongestWait{1};

}  // namespace

struct WorkQueue::State {
  State(Clock& clock_, Random random_, Backoff::Options backoff_)
      : clock(clock_), random(std::move(random_)), backoff(backoff_) {}

  // Wakes one taker. Its own wait is what is stopped, so that a taker can wait for a key and for the clock at once.
  void wake() {
    if (takers.empty()) return;
    takers.back()->request_stop();
    takers.pop_back();
  }

  void add(const std::string& key) {
    if (!dirty.insert(key).second || processing.contains(key)) return;
    queue.push_back(key);
    wake();
  }

  void add_due() {
    const auto now = clock.steady();
    while (!by_time.empty() && by_time.begin()->first <= now) {
      const std::string key = by_time.begin()->second;
      by_time.erase(by_time.begin());
      times.erase(key);
      add(key);
    }
  }

  void add_at(const std::string& key, SteadyTime at) {
    if (const auto found = times.find(key); found != times.end()) {
      if (found->second <= at) return;
      const auto [first, last] = by_time.equal_range(found->second);
      by_time.erase(
          std::find_if(first, last, [&](const auto& entry) { return entry.second == key; }));
    }
    times[key] = at;
    const bool is_next = by_time.empty() || at < by_time.begin()->first;
    by_time.emplace(at, key);
    if (is_next) wake();
  }

  Clock& clock;
  Random random;
  Backoff::Options backoff;

  std::mutex mutex;  // guards all below
  std::deque<std::string> queue;
  std::unordered_set<std::string> dirty;       // to be worked on: queued, or again after done()
  std::unordered_set<std::string> processing;  // taken and not done
  std::multimap<SteadyTime, std::string> by_time;
  std::unordered_map<std::string, SteadyTime> times;  // the same by key
  std::unordered_map<std::string, Backoff> failures;
  std::vector<std::stop_source*> takers;  // who waits
};

WorkQueue::WorkQueue(Clock& clock, Random random, Backoff::Options backoff)
    : state_(std::make_unique<State>(clock, std::move(random), backoff)) {}
WorkQueue::~WorkQueue() = default;

void WorkQueue::add(const std::string& key) {
  const std::lock_guard lock(state_->mutex);
  state_->add(key);
}

void WorkQueue::add_after(const std::string& key, std::chrono::nanoseconds delay) {
  const std::lock_guard lock(state_->mutex);
  if (delay <= delay.zero()) {
    state_->add(key);
  } else {
    state_->add_at(key, state_->clock.steady() + delay);
  }
}

void WorkQueue::retry(const std::string& key) {
  const std::lock_guard lock(state_->mutex);
  const auto failure = state_->failures.try_emplace(key, state_->backoff, state_->random).first;
  state_->add_at(key, state_->clock.steady() + failure->second.next());
}

void WorkQueue::forget(const std::string& key) {
  const std::lock_guard lock(state_->mutex);
  state_->failures.erase(key);
}

std::optional<std::string> WorkQueue::take(const std::stop_token& stop) {
  State& state = *state_;
  while (!stop.stop_requested()) {
    std::stop_source woken;
    std::chrono::nanoseconds wait = kLongestWait;
    {
      const std::lock_guard lock(state.mutex);
      state.add_due();
      if (!state.queue.empty()) {
        std::string key = std::move(state.queue.front());
        state.queue.pop_front();
        state.dirty.erase(key);
        state.processing.insert(key);
        // This taker is busy now: another must watch for what is left and for the next delay.
        if (!state.queue.empty() || !state.by_time.empty()) state.wake();
        return key;
      }
      if (!state.by_time.empty()) {
        wait = std::min(wait, state.by_time.begin()->first - state.clock.steady());
      }
      state.takers.push_back(&woken);
    }
    {
      const std::stop_callback forward(stop, [&] { woken.request_stop(); });
      state.clock.wait_for(wait, woken.get_token());
    }
    const std::lock_guard lock(state.mutex);
    std::erase(state.takers, &woken);
    if (stop.stop_requested()) state.wake();  // it may have been woken for a key
  }
  return std::nullopt;
}

void WorkQueue::done(const std::string& key) {
  const std::lock_guard lock(state_->mutex);
  if (state_->processing.erase(key) == 0 || !state_->dirty.contains(key)) return;
  state_->queue.push_back(key);
  state_->wake();
}

void WorkQueue::clear() {
  const std::lock_guard lock(state_->mutex);
  state_->queue.clear();
  state_->dirty.clear();
  state_->by_time.clear();
  state_->times.clear();
  state_->failures.clear();
}

size_t WorkQueue::waiting() const {
  const std::lock_guard lock(state_->mutex);
  state_->add_due();
  return state_->queue.size();
}

}  // namespace nobs::runtime
