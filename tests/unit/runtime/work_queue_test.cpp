#include "shared/runtime/work_queue.h"

#include <doctest/doctest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/support/eventually.h"
#include "tests/support/fake_clock.h"

namespace nobs::runtime {
namespace {

using namespace std::chrono_literals;

// Counts the waits that were begun: the only sign that a taker has looked and waits anew.
struct CountingClock : test::FakeClock {
  bool wait_for(std::chrono::nanoseconds duration, const std::stop_token& stop) override {
    ++waits;
    return FakeClock::wait_for(duration, stop);
  }
  std::atomic<int> waits = 0;
};

struct Fixture {
  CountingClock clock;
  WorkQueue queue{clock, [] { return 0.0; }};
  std::stop_source stop;

  std::string take() { return queue.take(stop.get_token()).value_or("(none)"); }
};

TEST_CASE_FIXTURE(Fixture, "keys come out in the order in which they were added") {
  queue.add("a");
  queue.add("b");
  CHECK(take() == "a");
  CHECK(take() == "b");
}

TEST_CASE_FIXTURE(Fixture, "a key added many times is worked on once") {
  for (int i = 0; i < 5; ++i) queue.add("a");
  CHECK(queue.waiting() == 1);
  CHECK(take() == "a");
  queue.done("a");
  CHECK(queue.waiting() == 0);
}

TEST_CASE_FIXTURE(Fixture, "a key added while it is worked on is worked on again, but not by two") {
  queue.add("a");
  CHECK(take() == "a");
  queue.add("a");
  CHECK(queue.waiting() == 0);
  queue.done("a");
  CHECK(queue.waiting() == 1);
  CHECK(take() == "a");
}

TEST_CASE_FIXTURE(Fixture, "a delayed key comes not before its time") {
  queue.add_after("a", 10s);
  clock.advance(9s);
  CHECK(queue.waiting() == 0);
  clock.advance(1s);
  CHECK(queue.waiting() == 1);
}

TEST_CASE_FIXTURE(Fixture, "of two delays of a key the earlier one wins, and it comes once") {
  queue.add_after("a", 10s);
  queue.add_after("a", 5s);
  queue.add_after("a", 20s);
  clock.advance(5s);
  CHECK(take() == "a");
  queue.done("a");
  clock.advance(60s);
  CHECK(queue.waiting() == 0);
}

TEST_CASE_FIXTURE(Fixture, "a failing key waits twice as long each time, until it is forgotten") {
  const auto waits = [&](std::chrono::milliseconds expected) {
    queue.retry("a");
    clock.advance(expected - 1ms);
    CHECK(queue.waiting() == 0);
    clock.advance(1ms);
    CHECK(take() == "a");
    queue.done("a");
  };
  waits(5ms);
  waits(10ms);
  waits(20ms);
  queue.forget("a");
  waits(5ms);
}

TEST_CASE_FIXTURE(Fixture,
                  "clear forgets keys, delays and failures, and what was added meanwhile") {
  queue.add("working");
  CHECK(take() == "working");
  queue.add("working");
  queue.add("a");
  queue.add_after("b", 1s);
  queue.retry("c");
  queue.clear();
  queue.done("working");
  clock.advance(1h);
  CHECK(queue.waiting() == 0);
  queue.retry("c");
  clock.advance(5ms);
  CHECK(queue.waiting() == 1);
}

TEST_CASE_FIXTURE(Fixture, "a waiting taker wakes for a new key, for a delay and for stop") {
  std::atomic<int> taken = 0;
  std::jthread worker([&] {
    while (auto key = queue.take(stop.get_token())) {
      ++taken;
      queue.done(*key);
    }
    taken = -1;
  });
  REQUIRE(test::eventually(5s, [&] { return clock.waiting() == 1; }));
  queue.add("a");
  REQUIRE(test::eventually(5s, [&] { return taken == 1 && clock.waiting() == 1; }));
  queue.add_after("b", 3s);
  clock.advance(2s);
  CHECK(taken == 1);
  clock.advance(1s);
  REQUIRE(test::eventually(5s, [&] { return taken == 2; }));
  stop.request_stop();
  CHECK(test::eventually(5s, [&] { return taken == -1; }));
}

TEST_CASE_FIXTURE(Fixture, "a due key is taken while another taker is busy with a long one") {
  std::atomic<bool> is_busy = false;
  std::atomic<bool> may_end = false;
  std::atomic<bool> came = false;
  const auto work = [&] {
    while (auto key = queue.take(stop.get_token())) {
      if (*key == "long") {
        is_busy = true;
        test::eventually(20s, [&] { return may_end.load(); });
      } else {
        came = true;
      }
      queue.done(*key);
    }
  };
  std::vector<std::jthread> workers;
  workers.emplace_back(work);
  workers.emplace_back(work);
  REQUIRE(test::eventually(5s, [&] { return clock.waiting() == 2; }));
  queue.add_after("due", 10s);  // one of the two waits for it
  REQUIRE(test::eventually(5s, [&] { return clock.waits == 3 && clock.waiting() == 2; }));
  queue.add("long");
  REQUIRE(test::eventually(5s, [&] { return is_busy && clock.waiting() == 1; }));
  clock.advance(10s);
  CHECK(test::eventually(5s, [&] { return came.load(); }));
  may_end = true;
  stop.request_stop();
}

TEST_CASE_FIXTURE(Fixture, "under load no key is lost and none is worked on by two") {
  std::mutex mutex;
  std::map<std::string, int> at_work;
  std::atomic<bool> overlapped = false;
  std::atomic<int> works = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (auto key = queue.take(stop.get_token())) {
        {
          const std::lock_guard lock(mutex);
          if (++at_work[*key] > 1) overlapped = true;
        }
        ++works;
        {
          const std::lock_guard lock(mutex);
          --at_work[*key];
        }
        queue.done(*key);
      }
    });
  }
  {
    std::vector<std::jthread> adders;
    for (int t = 0; t < 2; ++t) {
      adders.emplace_back([&] {
        for (int i = 0; i < 2000; ++i) queue.add("key" + std::to_string(i % 7));
      });
    }
  }
  CHECK(test::eventually(5s, [&] { return queue.waiting() == 0 && clock.waiting() == 3; }));
  const int before = works;
  queue.add("last");
  CHECK(test::eventually(5s, [&] { return works == before + 1; }));
  CHECK_FALSE(overlapped);
  stop.request_stop();
}

}  // namespace
}  // namespace nobs::runtime
