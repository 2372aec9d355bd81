// nobs-sim-api: the embedded Kubernetes API as a program, for the demo and for tests in other processes.
//
//   nobs-sim-api --crds=<dir> --directory=<dir> [--port=N] [--bookmark-seconds=N]
//
// Writes admin.kubeconfig, alice.kubeconfig and nobody.kubeconfig into the directory, prints "ready", and runs until its
// standard input closes or it gets SIGTERM or SIGINT. Faults: POST /_sim/faults (faults.h); GET /_sim/requests.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <map>

#include "shared/base/file.h"
#include "shared/base/stop.h"
#include "shared/base/strings.h"
#include "tests/sim/api/api_server.h"

namespace {

int fail(const std::string& why) {
  std::fprintf(stderr, "nobs-sim-api: %s\n", why.c_str());
  return 3;
}

// True when there is nothing more to wait for on standard input.
bool stdin_closed(int timeout_ms) {
  pollfd waiting{STDIN_FILENO, POLLIN, 0};
  if (::poll(&waiting, 1, timeout_ms) <= 0) return false;
  char unused[256];
  return ::read(STDIN_FILENO, unused, sizeof unused) <= 0;
}

}  // namespace

int main(int argc, char** argv) {
  nobs::ignore_sigpipe();
  const nobs::StopOnSignals signals({SIGTERM, SIGINT});
  std::map<std::string, std::string> flags{
      {"--crds", ""}, {"--directory", ""}, {"--port", "0"}, {"--bookmark-seconds", "60"}};
  for (int i = 1; i < argc; ++i) {
    const std::string text = argv[i];
    const size_t equals = std::min(text.find('='), text.size());
    const auto flag = flags.find(text.substr(0, equals));
    if (flag == flags.end() || equals == text.size())
      return fail(text + ": accepted are --crds=, --directory=, --port= and --bookmark-seconds=");
    flag->second = text.substr(equals + 1);
  }
  const auto port = nobs::parse_u64(flags["--port"]);
  const auto seconds = nobs::parse_u64(flags["--bookmark-seconds"]);
  if (!port || *port > 65'535 || !seconds || *seconds == 0 || *seconds > 3'600)
    return fail("--port takes 0 to 65535, --bookmark-seconds 1 to 3600");

  nobs::sim::ApiServer server({.crd_directory = flags["--crds"],
                               .port = static_cast<int>(*port),
                               .bookmark_interval = std::chrono::seconds(*seconds)});
  if (const auto started = server.start(); !started) return fail(started.error().message);
  for (const auto* user : {"admin", "alice", "nobody"}) {
    const auto file = flags["--directory"] + "/" + user + ".kubeconfig";
    const auto written = nobs::write_file_atomically(file, server.kubeconfig(user));
    if (!written) return fail(written.error().message);
  }
  std::puts("ready");
  std::fflush(stdout);
  while (!signals.token().stop_requested() && !stdin_closed(200)) {
  }
  return 0;
}
