#include "shared/runtime/lifecycle.h"

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

namespace nobs::runtime {
namespace {

struct Running {
  std::mutex mutex;
  std::condition_variable ended;
  std::vector<bool> has_ended;  // by part
};

// What the part threw, as text; nothing when it returned.
std::string run_part(const Part& part, const std::stop_token& stop) {
  try {
    part.run(stop);
    return {};
  } catch (const std::exception& error) {
    return error.what()[0] != '\0' ? error.what() : "an exception without text";
  } catch (...) {
    return "an exception of unknown type";
  }
}

// True when all parts have ended in time; else says which have not.
bool all_end(Running& running, const std::vector<Part>& parts, std::chrono::milliseconds grace,
             const log::Logger& logger) {
  const auto is_over = [&] {
    for (const bool ended : running.has_ended) {
      if (!ended) return false;
    }
    return true;
  };
  std::unique_lock lock(running.mutex);
  if (running.ended.wait_for(lock, grace, is_over)) return true;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!running.has_ended[i]) logger.error("part did not stop in time", {{"part", parts[i].name}});
  }
  return false;
}

}  // namespace

int run(std::vector<Part> parts, const std::stop_token& stop, std::chrono::milliseconds grace,
        const log::Logger& logger) {
  Running running;
  running.has_ended.resize(parts.size());
  std::atomic<bool> has_failed = false;
  std::stop_source ending;  // by the caller's stop, or by a part that ended
  const std::stop_callback forward(stop, [&] { ending.request_stop(); });

  std::vector<std::jthread> threads;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto work = [&, i] {
      const std::string failure = run_part(parts[i], ending.get_token());
      if (!failure.empty()) {
        logger.error("part failed", {{"part", parts[i].name}, {"error", failure}});
        has_failed = true;
      } else if (!ending.stop_requested()) {
        logger.error("part ended by itself", {{"part", parts[i].name}});
        has_failed = true;
      }
      ending.request_stop();
      {
        const std::lock_guard lock(running.mutex);
        running.has_ended[i] = true;
      }
      running.ended.notify_all();
    };
    try {
      threads.emplace_back(work);
    } catch (const std::system_error& error) {  // no more threads
      logger.error("part cannot start", {{"part", parts[i].name}, {"error", error.what()}});
      has_failed = true;
      ending.request_stop();
      const std::lock_guard lock(running.mutex);
      running.has_ended[i] = true;
    }
  }

  {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    stopped.wait(lock, ending.get_token(), [] { return false; });
  }
  // A thread stuck in the kernel cannot be joined, and its destructor would wait for ever.
  if (!all_end(running, parts, grace, logger)) ::_exit(1);
  threads.clear();
  return has_failed ? 1 : 0;
}

}  // namespace nobs::runtime
