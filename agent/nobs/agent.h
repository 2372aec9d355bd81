// The agent as nobs reaches it: its unix socket first, then its address. Errors are sentences for a person.
//
// Not thread-safe. The token is read anew for each request, and never sent to the socket.
//
//   Agent agent(arguments, stop);
//   auto snapshot = agent.get("/api/v1alpha1/snapshot");
//   if (!snapshot) { say(snapshot.error().message); return exit_code(snapshot.error()); }
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "agent/nobs/arguments.h"
#include "shared/json/value.h"
#include "shared/net/client.h"

namespace nobs::cli {

inline constexpr std::string_view kRoot = "/api/v1alpha1";

class Agent {
 public:
  Agent(const Arguments& arguments, std::stop_token stop);

  // A JSON object of the API; `more` is time that the agent may wait for news.
  Result<json::Value> get(const std::string& target, std::chrono::seconds more = {});
  Result<std::string> text(const std::string& target);
  // Events until on_piece returns false, stop, or the stream breaks (an error).
  Result<void> events(const std::string& last_id,
                      const std::function<bool(std::string_view)>& on_piece);

  const std::string& where() const { return where_; }

 private:
  Result<net::Request> request(const std::string& target);
  Result<net::Response> send(const std::string& target, std::chrono::seconds more);
  Error refusal(const net::Response& answer, const std::string& target) const;
  Error unreachable(const Error& error) const;
  void choose();

  const Arguments& arguments_;
  const std::stop_token stop_;
  std::string where_;  // for messages
  bool uses_socket_ = false;
  std::unique_ptr<net::Client> client_;
};

// 2: the agent is not ready; 3: what was asked for is not there; 4: it cannot be reached, refuses, or is no agent.
int exit_code(const Error& error);

}  // namespace nobs::cli
