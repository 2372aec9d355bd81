// The read-only HTTP API: /api/v1alpha1/… as openapi.json describes it.
//
// For routes.cpp, behind authorization where there is one. Answers at once, but for a snapshot that is waited for and for
// events as a stream: those run on threads of their own (net::Answer::stream), so that they never keep others waiting.
// Thread-safe; the board outlives the handler.
//
//   net::Handler handler = serve::api(board, {.node = "ip-10-0-1-7"});
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "agent/serve/board.h"
#include "shared/net/server.h"

namespace nobs::serve {

inline constexpr std::string_view kApiRoot = "/api/v1alpha1";

struct ApiOptions {
  std::string node;
  // Between two comment lines of a stream of events: less than what proxies allow to be silent.
  std::chrono::milliseconds keep_alive{15'000};
};

net::Handler api(const Board& board, ApiOptions options);

// Every route, as openapi.json names it.
std::vector<std::string> api_paths();
std::string_view openapi_json();
// Of this build.
std::string_view program_version();

}  // namespace nobs::serve
