// Reads a source again and again on a thread of its own, so that one that hangs delays nothing else.
//
// For sources beside the devices: fabric, system. `latest` may be called from any thread. The read function runs on
// the source's thread alone and may block in the kernel: the thread is then left behind, also when the source is
// destroyed, so the function may touch only what it owns.
//
//   Periodic<SystemReading> system(5s, [root = Root("/proc")]() mutable { return read_system(root); });
//   if (const auto now = system.latest(); now.value) use(*now.value);
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace nobs::sources {

template <typename T>
class Periodic {
 public:
  using RealTime = std::chrono::steady_clock::time_point;

  struct Latest {
    std::shared_ptr<const T> value;  // null: never read
    RealTime read_at{};
    std::chrono::nanoseconds took{};
    bool is_late = false;  // a read has been going on for longer than the deadline
  };

  Periodic(std::chrono::nanoseconds interval, std::chrono::nanoseconds deadline,
           std::function<T()> read)
      : deadline_(deadline), shared_(std::make_shared<Shared>()) {
    shared_->interval = interval;
    shared_->read = std::move(read);
    std::thread([shared = shared_] { run(*shared); }).detach();
  }
  ~Periodic() {
    const std::scoped_lock lock(shared_->mutex);
    shared_->is_over = true;
    shared_->changed.notify_all();
  }
  Periodic(const Periodic&) = delete;
  Periodic& operator=(const Periodic&) = delete;

  Latest latest() const {
    const std::scoped_lock lock(shared_->mutex);
    Latest latest = shared_->latest;
    latest.is_late =
        shared_->is_reading && std::chrono::steady_clock::now() - shared_->began_at > deadline_;
    return latest;
  }

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::chrono::nanoseconds interval{};
    std::function<T()> read;
    bool is_over = false, is_reading = false;
    RealTime began_at{};
    Latest latest;
  };

  // Detached, because nothing can end a thread that is blocked in the kernel.
  static void run(Shared& shared) {
    std::unique_lock lock(shared.mutex);
    while (!shared.is_over) {
      shared.is_reading = true;
      shared.began_at = std::chrono::steady_clock::now();
      lock.unlock();
      auto value = std::make_shared<const T>(shared.read());
      const auto now = std::chrono::steady_clock::now();
      lock.lock();
      shared.is_reading = false;
      shared.latest = {std::move(value), now, now - shared.began_at, false};
      shared.changed.notify_all();
      shared.changed.wait_until(lock, shared.began_at + shared.interval,
                                [&] { return shared.is_over; });
    }
  }

  const std::chrono::nanoseconds deadline_;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace nobs::sources
