// Waits for a condition with a deadline, so that tests need no sleeps.
//
//   REQUIRE(eventually(5s, [&] { return server.requests() == 1; }));
#pragma once

#include <chrono>
#include <thread>

namespace nobs::test {

template <typename Condition>
bool eventually(std::chrono::milliseconds limit, const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    if (condition()) return true;
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace nobs::test
