#include "agent/serve/board.h"

#include <algorithm>

namespace nobs::serve {
namespace {

// How often a waiting client is asked whether it is still there.
constexpr auto kSlice = std::chrono::milliseconds(200);

std::uint64_t first_id(WallTime start) {
  const auto since =
      std::chrono::duration_cast<std::chrono::milliseconds>(start.time_since_epoch());
  return static_cast<std::uint64_t>(std::max<std::int64_t>(since.count(), 1));
}

}  // namespace

Board::Board(WallTime start, size_t ring) : ring_(ring), newest_id_(first_id(start)) {}

void Board::post(const std::shared_ptr<const publish::Report>& report,
                 const std::vector<health::Change>& changes) {
  Shown shown{report, {}};
  const auto earlier = newest();  // only the main loop posts
  for (const auto& [index, slot] : report->memory.slots) {
    if (!earlier) break;
    if (const auto found = earlier->read_at.find(index); found != earlier->read_at.end())
      shown.read_at.insert(*found);
  }
  for (const auto& device : report->reading.devices) {
    if (device.problem == sources::ReadProblem::None)
      shown.read_at[device.index] = report->at + (device.read_at - report->reading.steady);
  }
  auto next = std::make_shared<const Shown>(std::move(shown));
  {
    const std::lock_guard lock(mutex_);
    for (const auto& change : changes) {
      events_.push_back({++newest_id_, report->at, change, describe(change)});
      if (events_.size() > ring_) events_.pop_front();
    }
    shown_ = std::move(next);
  }
  changed_.notify_all();
}

std::shared_ptr<const Shown> Board::newest() const {
  const std::lock_guard lock(mutex_);
  return shown_;
}

bool Board::wait(std::unique_lock<std::mutex>& lock, SteadyTime deadline, const GoOn& go_on,
                 const std::function<bool()>& done) const {
  while (!done()) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline) return false;
    if (changed_.wait_until(lock, std::min<SteadyTime>(deadline, now + kSlice), done)) break;
    lock.unlock();  // go_on may write to a client
    const bool goes_on = go_on();
    lock.lock();
    if (!goes_on) return false;
  }
  return true;
}

std::shared_ptr<const Shown> Board::wait_other(std::uint64_t known, SteadyTime deadline,
                                               const GoOn& go_on) const {
  std::unique_lock lock(mutex_);
  const bool came =
      wait(lock, deadline, go_on, [&] { return shown_ && shown_->report->version != known; });
  return came ? shown_ : nullptr;
}

Events Board::select(std::uint64_t after) const {
  const std::uint64_t before_first = newest_id_ - events_.size();
  Events events{{}, newest_id_, after != 0 && (after < before_first || after > newest_id_)};
  for (const auto& event : events_)
    if (event.id > after || events.is_gap) events.list.push_back(event);
  return events;
}

Events Board::events_after(std::uint64_t after) const {
  const std::lock_guard lock(mutex_);
  return select(after);
}

Events Board::wait_events(std::uint64_t after, SteadyTime deadline, const GoOn& go_on) const {
  std::unique_lock lock(mutex_);
  wait(lock, deadline, go_on, [&] { return newest_id_ != after; });
  return select(after);
}

std::string describe(const health::Change& change) {
  using Kind = health::Change::Kind;
  const std::string device = "neuron" + std::to_string(change.device) + ": ";
  const std::string fault(to_string(change.fault.fault));
  const std::string detail = change.fault.message.empty() ? "" : ": " + change.fault.message;
  switch (change.kind) {
    case Kind::FaultBegan:
      return device + fault + " began" + detail;
    case Kind::FaultRepeated:
      return device + fault + " repeated" + detail;
    case Kind::FaultCleared:
      return device + fault + " cleared: " + change.cleared_by;
    case Kind::HealthChanged:
      return device + std::string(to_lower_string(change.from)) + " -> " +
             std::string(to_lower_string(change.to));
  }
  return {};
}

}  // namespace nobs::serve
