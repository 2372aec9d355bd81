#include "agent/serve/board.h"

#include <doctest/doctest.h>

#include <thread>

#include "tests/unit/agent/serve/reports.h"

using namespace nobs;
using namespace nobs::serve::test;
using namespace std::chrono_literals;
using serve::Board;

namespace {

SteadyTime soon(std::chrono::milliseconds duration) {
  return std::chrono::steady_clock::now() + duration;
}

}  // namespace

TEST_CASE("any other version is news: that of an earlier run may have been larger") {
  Board board(WallTime(1s));
  const auto go_on = [] { return true; };
  CHECK_FALSE(board.wait_other(7, soon(1ms), go_on));
  board.post(shared(report(7)), {});
  CHECK_FALSE(board.wait_other(7, soon(1ms), go_on));
  CHECK(board.wait_other(6, soon(0ms), go_on));
  CHECK(board.wait_other(900, soon(0ms), go_on));
}

TEST_CASE("a wait ends when its owner says so, long before its time") {
  Board board(WallTime(1s));
  board.post(shared(report(7)), {});
  int asked = 0;
  const auto begin = std::chrono::steady_clock::now();
  CHECK_FALSE(board.wait_other(7, soon(60s), [&] { return ++asked < 2; }));
  const auto events =
      board.wait_events(board.events_after(0).newest, soon(60s), [&] { return ++asked < 4; });
  CHECK(events.list.empty());
  CHECK(asked == 4);
  CHECK(std::chrono::steady_clock::now() - begin < 30s);
}

TEST_CASE("a wait ends with what it waits for") {
  Board board(WallTime(1s));
  const std::jthread poster([&] { board.post(shared(report(1)), {began(1)}); });
  CHECK(board.wait_other(0, soon(20s), [] { return true; }));
  CHECK(board.wait_events(1'000, soon(20s), [] { return true; }).list.size() == 1);
}

TEST_CASE("ids of a later run begin above those of an earlier one") {
  Board first(WallTime(1s));
  first.post(shared(report()), {began(0), began(1)});
  Board second(WallTime(2s));
  second.post(shared(report()), {began(2)});
  const auto events = second.events_after(first.events_after(0).newest);
  CHECK(events.is_gap);
  CHECK(events.list.size() == 1);
}
