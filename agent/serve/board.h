// What the HTTP API shows: the newest report, and the last events with rising ids.
//
// The main loop posts after each cycle; handlers of the API read and wait. Thread-safe. Ids begin at the wall time of the
// start in milliseconds, so that those of an earlier run are recognised and never taken for ours.
//
//   Board board(clock.now());
//   board.post(report, changes);
//   if (auto newer = board.wait_other(17, deadline, go_on)) use(*newer);
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agent/health/judge.h"
#include "agent/publish/desired.h"
#include "shared/base/clock.h"

namespace nobs::serve {

// Immutable.
struct Shown {
  std::shared_ptr<const publish::Report> report;  // never null
  std::map<int, WallTime>
      read_at;  // when each device was last read without a problem; absent: never
};

struct Event {
  std::uint64_t id = 0;
  WallTime at{};
  health::Change change;
  std::string message;  // one sentence
};

struct Events {
  std::vector<Event> list;
  std::uint64_t newest = 0;  // id of the last event ever posted
  bool is_gap = false;       // some that were asked for are gone, or were never ours
};

class Board {
 public:
  static constexpr size_t kDefaultRing = 1024;
  // Asked several times a second while somebody waits; false ends the wait.
  using GoOn = std::function<bool()>;

  explicit Board(WallTime start, size_t ring = kDefaultRing);

  void post(const std::shared_ptr<const publish::Report>& report,
            const std::vector<health::Change>& changes);

  std::shared_ptr<const Shown> newest() const;  // null before the first cycle
  // The newest once its version is another than `known`, or null when the time is over or go_on says so. Versions begin
  // anew with each run: a smaller one is news too.
  std::shared_ptr<const Shown> wait_other(std::uint64_t known, SteadyTime deadline,
                                          const GoOn& go_on) const;

  // Events with an id above `after`; 0: all there are, which is never a gap.
  Events events_after(std::uint64_t after) const;
  // The same, but waits for one.
  Events wait_events(std::uint64_t after, SteadyTime deadline, const GoOn& go_on) const;

 private:
  bool wait(std::unique_lock<std::mutex>& lock, SteadyTime deadline, const GoOn& go_on,
            const std::function<bool()>& done) const;
  Events select(std::uint64_t after) const;

  const size_t ring_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::shared_ptr<const Shown> shown_;
  std::deque<Event> events_;
  std::uint64_t newest_id_;
};

// "neuron3: HBMUncorrectable began: mem_ecc_uncorrected 0 -> 1"
std::string describe(const health::Change& change);

}  // namespace nobs::serve
