// exports.yaml on disk: read at the start, and again when it changes.
//
// For the agent's options (load_exports) and a thread of its own (run). A ConfigMap changes by a swap of symbolic links,
// so the content is compared, every other second, and nothing is watched. A file that became wrong or went away changes
// nothing: the exports stay as they were, and the log and neuron_observer_config_reloads_total say so.
#pragma once

#include <stop_token>
#include <string>

#include "agent/telemetry/telemetry.h"
#include "shared/base/clock.h"
#include "shared/log/logger.h"
#include "shared/metrics/registry.h"

namespace nobs::telemetry {

// The built-in file for an empty path. A file that cannot be read is a mistake.
ParsedExports load_exports(const std::string& path);

class ExportsFile {
 public:
  ExportsFile(std::string path, Telemetry& telemetry, metrics::Registry& registry, Clock& clock,
              const log::Logger& logger);
  void run(const std::stop_token& stop);

 private:
  void look();

  const std::string path_;
  Telemetry& telemetry_;
  metrics::Counter& reloads_;
  Clock& clock_;
  const log::Logger& logger_;
  std::string seen_;  // the content, or what was wrong with reading it
};

}  // namespace nobs::telemetry
