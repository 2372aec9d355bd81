#include "tests/scenarios/backend.h"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "shared/base/file.h"
#include "tests/support/directory.h"
#include "tests/support/eventually.h"

namespace nobs::test {

std::string scratch_directory(const std::string& name) {
  static Directory root;
  if (std::getenv("NOBS_KEEP_LOGS")) root.keep();
  const auto directory = root.path(name);
  std::filesystem::create_directories(directory);
  return directory;
}

std::string program(const std::string& name) {
  const std::filesystem::path build(NOBS_BUILD_DIR);
  for (const auto& path : {build / name, build / "tests" / name}) {
    if (std::filesystem::exists(path)) return path.string();
  }
  throw std::runtime_error("program " + name + " is not built");
}

Backend::Backend() {
  const char* wanted = std::getenv("NOBS_BACKEND");
  is_real_ = wanted && std::string(wanted) == "cluster";
  directory_ = scratch_directory("api");
  const std::string source(NOBS_SOURCE_DIR);
  std::vector<std::string> command;
  if (is_real_) {
    command = {"bash", source + "/tests/cluster/start-api-server.sh", directory_,
               source + "/build/cluster/bin"};
  } else {
    command = {program("nobs-sim-api"), "--crds=" + source + "/crds", "--directory=" + directory_,
               "--bookmark-seconds=1"};
  }
  // Not in the directory itself, which the real server empties when it starts.
  process_ = std::make_unique<Process>(command, directory_ + ".log");
  const bool ready = eventually(std::chrono::minutes(2), [&] {
    if (!process_->is_running()) return true;
    const std::string output = process_->output();
    return output == "ready\n" || output.ends_with("\nready\n");
  });
  if (!ready || !process_->is_running())
    throw std::runtime_error("the API did not start: " + process_->output());
}

kube::Config Backend::config(const std::string& user) const {
  auto config = kube::load_config({.kubeconfig = directory_ + "/" + user + ".kubeconfig"},
                                  [](const char*) -> const char* { return nullptr; });
  if (!config) throw std::runtime_error(config.error().message);
  return *config;
}

}  // namespace nobs::test
