// Where the agent answers: its address, and a unix socket for people and programs on the node.
//
// For main. /healthz, /readyz and /metrics are open on both; /api is open on a loopback address (to local Host names) and
// on the socket (to its owner, mode 0600), and asks for a token elsewhere.
//
//   Servers servers({.address = options.address, .port = 7001, .socket = options.socket, .node = "node-a"}, …);
//   if (auto started = servers.start(); !started) return 1;
#pragma once

#include <string>

#include "agent/serve/api.h"
#include "agent/serve/authorization.h"
#include "agent/serve/routes.h"
#include "shared/log/logger.h"

namespace nobs::serve {

struct ServersOptions {
  std::string address;
  int port = 0;
  std::string socket;  // empty: none
  std::string node;
};

class Servers {
 public:
  Servers(const ServersOptions& options, const metrics::Registry& registry, const Probes& probes,
          const Board& board, kube::Client& client, Clock& clock, const log::Logger& logger,
          std::stop_token stop);

  // An error when the address cannot be had; a socket that cannot be had is only a warning.
  Result<void> start();
  int port() const { return server_.port(); }

 private:
  const std::string socket_;
  const log::Logger& logger_;
  Authorization authorization_;  // outlives the servers
  net::Server server_;
  net::Server local_;
};

}  // namespace nobs::serve
