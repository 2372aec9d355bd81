// Runs the parts of a program side by side until stop, or until one of them ends on its own, which is a fault.
//
//   return run({{"collect", [&](auto stop) { ... }}, {"publish", ...}}, signals.token(), 10s, logger);
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "shared/log/logger.h"

namespace nobs::runtime {

struct Part {
  std::string name;
  std::function<void(const std::stop_token&)> run;
};

// 0 after an orderly stop, 1 when a part ended by itself or threw (logged with its name). Parts that have not ended
// `grace` after stop are named in the log and the process ends (a thread stuck in the kernel cannot be joined).
int run(std::vector<Part> parts, const std::stop_token& stop, std::chrono::milliseconds grace,
        const log::Logger& logger);

}  // namespace nobs::runtime
