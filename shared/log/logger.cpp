#include "shared/log/logger.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <mutex>

#include "shared/base/rfc3339.h"
#include "shared/base/strings.h"

namespace nobs::log {
namespace {

// One log line stays well below what container runtimes split (16 KiB) with the fields we have.
constexpr size_t kMaxValue = 1024;

std::string_view name(Level level) {
  switch (level) {
    case Level::Debug:
      return "debug";
    case Level::Info:
      return "info";
    case Level::Warn:
      return "warn";
    case Level::Error:
      return "error";
  }
  return "error";
}

// `text` as a JSON string (RFC 8259). Valid UTF-8 comes from the caller.
void append_quoted(std::string& line, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  line += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"':
        line += "\\\"";
        break;
      case '\\':
        line += "\\\\";
        break;
      case '\n':
        line += "\\n";
        break;
      case '\r':
        line += "\\r";
        break;
      case '\t':
        line += "\\t";
        break;
      default:
        if (byte < 0x20 || byte == 0x7F) {
          line += {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]};
        } else {
          line += c;
        }
    }
  }
  line += '"';
}

void append_member(std::string& line, std::string_view key, std::string_view value) {
  line += line.empty() ? '{' : ',';
  append_quoted(line, utf8(key, kMaxValue));
  line += ':';
  append_quoted(line, utf8(value, kMaxValue));
}

// The sink of spdlog ignores what write() answers, so a closed stdout loses lines and nothing else (SIGPIPE is ignored
// by main). The pattern must not format: the line is whole already.
std::unique_ptr<spdlog::logger> stdout_lines() {
  auto sink = std::make_shared<spdlog::sinks::stdout_sink_mt>();
  auto lines = std::make_unique<spdlog::logger>("", std::move(sink));
  lines->set_pattern("%v");
  lines->set_level(spdlog::level::trace);
  lines->set_error_handler([](const std::string&) {});
  return lines;
}

}  // namespace

struct Logger::State {
  explicit State(Options given) : options(std::move(given)) {
    if (!options.now) options.now = [] { return SystemClock().now(); };
    if (!options.sink) lines = stdout_lines();
  }

  Options options;
  std::unique_ptr<spdlog::logger> lines;  // empty when the options name a sink
  std::mutex mutex;                       // one caller at a time in options.sink
};

Logger::Logger(Options options) : state_(std::make_unique<State>(std::move(options))) {}
Logger::~Logger() = default;

void Logger::write(Level level, std::string_view message, const Fields& fields) const {
  State& state = *state_;
  if (level < state.options.level) return;
  std::string line;
  append_member(line, "ts", format_micros(state.options.now()));
  append_member(line, "level", name(level));
  append_member(line, "component", state.options.component);
  append_member(line, "msg", message);
  for (const auto& [key, value] : fields) append_member(line, key, value);
  line += '}';
  if (state.lines) {
    state.lines->log(spdlog::level::info, spdlog::string_view_t(line.data(), line.size()));
    return;
  }
  const std::lock_guard lock(state.mutex);
  state.options.sink(line);
}

Level parse_level(std::string_view text) {
  if (text == "debug") return Level::Debug;
  if (text == "warn") return Level::Warn;
  if (text == "error") return Level::Error;
  return Level::Info;
}

}  // namespace nobs::log
