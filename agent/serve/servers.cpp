#include "agent/serve/servers.h"

namespace nobs::serve {

Servers::Servers(const ServersOptions& options, const metrics::Registry& registry,
                 const Probes& probes, const Board& board, kube::Client& client, Clock& clock,
                 const log::Logger& logger, std::stop_token stop)
    : socket_(options.socket),
      logger_(logger),
      authorization_(reviews_of(client), clock, std::move(stop)),
      server_({.address = options.address, .port = options.port},
              routes(registry, probes,
                     is_loopback(options.address)
                         ? only_local_hosts(api(board, {.node = options.node}))
                         : authorization_.guard(api(board, {.node = options.node})))),
      local_({.address = "", .unix_socket = options.socket, .threads = 2, .max_streams = 16},
             routes(registry, probes, api(board, {.node = options.node}))) {}

Result<void> Servers::start() {
  if (auto started = server_.start(); !started) return started;
  if (socket_.empty()) return {};
  if (const auto started = local_.start(); !started)
    logger_.warn("no unix socket", {{"socket", socket_}, {"error", started.error().message}});
  return {};
}

}  // namespace nobs::serve
