// Structured lines: one JSON object a line on stdout, a constant message and named fields.
//
// For both programs. Thread-safe. The message never contains values, so that a fleet's lines can be counted by message;
// values are fields. Text from outside is cut to 1,024 bytes and made valid UTF-8.
//
//   log::Logger logger({.component = "agent", .level = log::Level::Info});
//   logger.info("device verdict changed", {{"device", "3"}, {"health", "unhealthy"}});
//   -> {"ts":"2026-11-30T21:45:28.123456Z","level":"info","component":"agent","msg":"device verdict changed",...}
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/base/clock.h"

namespace nobs::log {

enum class Level { Debug, Info, Warn, Error };
// "debug", "info", "warn", "error"; anything else is Info.
Level parse_level(std::string_view text);

using Field = std::pair<std::string_view, std::string>;
using Fields = std::vector<Field>;

struct Options {
  std::string component;
  Level level = Level::Info;
  std::function<WallTime()> now;  // empty: the system's
  std::function<void(std::string_view)>
      sink;  // empty: stdout; a test gives its own. Called under a lock.
};

class Logger {
 public:
  explicit Logger(Options options);
  ~Logger();

  void debug(std::string_view message, const Fields& fields = {}) const {
    write(Level::Debug, message, fields);
  }
  void info(std::string_view message, const Fields& fields = {}) const {
    write(Level::Info, message, fields);
  }
  void warn(std::string_view message, const Fields& fields = {}) const {
    write(Level::Warn, message, fields);
  }
  void error(std::string_view message, const Fields& fields = {}) const {
    write(Level::Error, message, fields);
  }

 private:
  void write(Level level, std::string_view message, const Fields& fields) const;

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nobs::log
