#include "agent/nobs/agent.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "agent/nobs/text.h"
#include "shared/base/file.h"
#include "shared/base/strings.h"
#include "shared/base/unique_fd.h"

namespace nobs::cli {
namespace {

constexpr size_t kMaxAnswer = 32U << 20;  // a snapshot of 64 devices is below 2 MB
constexpr size_t kMaxToken = 16U << 10;
constexpr std::chrono::seconds kSilence{45};  // events: a comment comes every 15 s

bool answers(const std::string& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.empty() || socket.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, socket.data(), socket.size());
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

Error no_agent(const std::string& where, const std::string& why) {
  return {ErrorCode::Unreachable,
          "what answers at " + where + " is no Neuron Observer agent: " + why,
          0,
          {}};
}

}  // namespace

Agent::Agent(const Arguments& arguments, std::stop_token stop)
    : arguments_(arguments), stop_(std::move(stop)) {
  choose();
}

void Agent::choose() {
  uses_socket_ =
      arguments_.names_socket || (!arguments_.names_address && answers(arguments_.socket));
  net::Endpoint endpoint;
  endpoint.user_agent = "nobs";
  if (uses_socket_) {
    endpoint.unix_socket = arguments_.socket;
    endpoint.host = "localhost";
    where_ = clean(arguments_.socket);
  } else {
    const auto address = parse_address(arguments_.address);  // checked with the arguments
    endpoint.host = address->host;
    endpoint.port = address->port;
    where_ = clean(arguments_.address);
  }
  client_ = std::make_unique<net::Client>(std::move(endpoint));
}

Result<net::Request> Agent::request(const std::string& target) {
  net::Request request{.target = target};
  if (uses_socket_ || arguments_.token_file.empty()) return request;
  const auto token = read_file(arguments_.token_file, kMaxToken);
  if (!token) return Error{ErrorCode::Invalid, "--token-file: " + token.error().message, 0, {}};
  request.headers.set("Authorization", "Bearer " + std::string(trim(*token)));
  return request;
}

Error Agent::unreachable(const Error& error) const {
  if (error.code == ErrorCode::Stopped) return error;
  std::string message = "cannot reach the agent at " + where_ + ": " + clean(error.message, 300);
  if (error.code == ErrorCode::Timeout) {
    message += "\n--timeout gives it more time";
  } else if (!arguments_.names_socket && !arguments_.names_address) {
    message += "\nneither " + clean(arguments_.socket) + " nor " + clean(arguments_.address) +
               " answers. Is the agent running on this machine?\nAnother one: --address "
               "http://HOST:7001 --token-file FILE, or kubectl port-forward";
  }
  return {ErrorCode::Unreachable, message, 0, {}};
}

Error Agent::refusal(const net::Response& answer, const std::string& target) const {
  const auto body = json::parse(answer.body);
  const std::string detail = body ? clean((*body)["detail"].string_or(""), 500) : "";
  const std::string path = target.substr(0, target.find('?'));
  const std::string because = detail.empty() ? "" : ": " + detail;
  switch (answer.status) {
    case 401:
      return {ErrorCode::Unauthorized,
              arguments_.token_file.empty()
                  ? "the agent at " + where_ + " asks who you are; give --token-file FILE"
                  : "the agent at " + where_ + " does not accept the token in " +
                        clean(arguments_.token_file) + because,
              401,
              {}};
    case 403:
      return {ErrorCode::Forbidden, "the agent at " + where_ + " refuses" + because, 403, {}};
    case 400:
      return {ErrorCode::Invalid, "the agent does not accept this" + because, 400, {}};
    case 404:
      if (detail.starts_with("there is no device")) return {ErrorCode::NotFound, detail, 404, {}};
      return {ErrorCode::Unreachable,
              "the agent at " + where_ + " has no " + path +
                  ": an older version than this nobs, or not an agent",
              404,
              {}};
    case 503:
      return {ErrorCode::Server, "the agent at " + where_ + " is not ready" + because, 503, {}};
    default:
      return {ErrorCode::Unreachable,
              "the agent at " + where_ + " answers HTTP " + std::to_string(answer.status) + because,
              answer.status,
              {}};
  }
}

Result<net::Response> Agent::send(const std::string& target, std::chrono::seconds more) {
  const auto asked = request(target);
  if (!asked) return asked.error();
  const net::Limits limits{
      .total = std::chrono::duration_cast<std::chrono::milliseconds>(arguments_.timeout) + more,
      .max_body = kMaxAnswer};
  auto answer = client_->send(*asked, limits, stop_);
  if (!answer) return unreachable(answer.error());
  if (answer->status != 200) return refusal(*answer, target);
  return answer;
}

Result<json::Value> Agent::get(const std::string& target, std::chrono::seconds more) {
  const auto answer = send(target, more);
  if (!answer) return answer.error();
  auto value = json::parse(answer->body);
  if (!value)
    return no_agent(where_, "the answer is not JSON: " + clean(value.error().message, 200));
  if (!value->is_object()) return no_agent(where_, "the answer is no JSON object");
  return value;
}

Result<std::string> Agent::text(const std::string& target) {
  auto answer = send(target, {});
  if (!answer) return answer.error();
  return std::move(answer->body);
}

Result<void> Agent::events(const std::string& last_id,
                           const std::function<bool(std::string_view)>& on_piece) {
  const std::string target = std::string(kRoot) + "/events";
  auto asked = request(target);
  if (!asked) return asked.error();
  asked->headers.set("Accept", "text/event-stream");
  if (!last_id.empty()) asked->headers.set("Last-Event-ID", last_id);
  net::Response head;
  std::string body;  // of a refusal
  const auto on_start = [&](const net::Response& response) {
    head = response;
    return true;
  };
  const auto on_body = [&](std::string_view piece) {
    if (head.status == 200) return on_piece(piece);
    body += piece;
    return body.size() < (64U << 10);
  };
  const auto ended = client_->stream(*asked, {.silence = kSilence}, stop_, on_start, on_body);
  if (head.status != 0 && head.status != 200) {
    head.body = body;
    return refusal(head, target);
  }
  if (!ended) return unreachable(ended.error());
  const auto* type = head.headers.find("Content-Type");
  if (type == nullptr || !type->starts_with("text/event-stream"))
    return no_agent(where_, "its events are no text/event-stream");
  return {};
}

int exit_code(const Error& error) {
  switch (error.code) {
    case ErrorCode::Invalid:
    case ErrorCode::NotFound:
      return 3;
    case ErrorCode::Server:
      return 2;
    default:
      return 4;
  }
}

}  // namespace nobs::cli
