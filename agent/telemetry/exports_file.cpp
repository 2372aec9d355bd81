#include "agent/telemetry/exports_file.h"

#include "shared/base/file.h"

namespace nobs::telemetry {
namespace {

constexpr size_t kMaxFile = 1U << 20;  // a ConfigMap's limit
constexpr auto kLookEvery = std::chrono::seconds(2);

}  // namespace

ParsedExports load_exports(const std::string& path) {
  if (path.empty()) return parse_exports(default_exports_yaml());
  const auto text = read_file(path, kMaxFile);
  if (!text) return {{}, {text.error().message}, {}};
  return parse_exports(*text);
}

ExportsFile::ExportsFile(std::string path, Telemetry& telemetry, metrics::Registry& registry,
                         Clock& clock, const log::Logger& logger)
    : path_(std::move(path)),
      telemetry_(telemetry),
      reloads_(registry.counter("neuron_observer_config_reloads_total",
                                "Changes of the export configuration that were seen, by result.",
                                {"result"})),
      clock_(clock),
      logger_(logger) {
  if (path_.empty()) return;
  const auto text = read_file(path_, kMaxFile);
  seen_ = text ? *text : text.error().message;
}

void ExportsFile::run(const std::stop_token& stop) {
  while (clock_.wait_for(kLookEvery, stop))
    if (!path_.empty()) look();
}

void ExportsFile::look() {
  const auto text = read_file(path_, kMaxFile);
  const std::string& now = text ? *text : text.error().message;
  if (now == seen_) return;
  seen_ = now;
  auto parsed = text ? parse_exports(now) : ParsedExports{{}, {now}, {}};
  for (const auto& warning : parsed.warnings)
    logger_.warn("export configuration has a doubtful entry",
                 {{"file", path_}, {"detail", warning}});
  for (const auto& mistake : parsed.mistakes)
    logger_.error("export configuration is wrong and not used",
                  {{"file", path_}, {"detail", mistake}});
  if (!parsed.mistakes.empty()) {
    reloads_.add({"rejected"});
    return;
  }
  telemetry_.use(std::move(parsed.exports));
  reloads_.add({"used"});
  logger_.info("export configuration reloaded", {{"file", path_}});
}

}  // namespace nobs::telemetry
