// What an answer that is no success means for the caller. Bodies as captured from kube-apiserver 1.37.
#include <algorithm>

#include "shared/base/strings.h"
#include "shared/kube/client.h"

namespace nobs::kube {
namespace {

using json::Value;

// A server must not put us to sleep for good.
constexpr std::chrono::seconds kMaxRetryAfter{300};

// A JSON patch that cannot be applied, by a failed `test` or an absent path, gets one bare body for all cases; older
// servers and the patch library itself name the test.
bool is_failed_patch(const Value& status) {
  const std::string message = status["message"].string_or("");
  if (!status["details"]["causes"].items().empty()) return false;
  return message == "the server rejected our request due to an error in our request" ||
         message.find("testing value") != std::string::npos ||
         message.find("test failed") != std::string::npos;
}

ErrorCode code_of(int http_status, const Value& status) {
  const std::string reason = status["reason"].string_or("");
  if (http_status == 410 || reason == "Expired" || reason == "Gone") return ErrorCode::Gone;
  if (http_status == 408 || http_status == 504 || reason == "Timeout") return ErrorCode::Timeout;
  switch (http_status) {
    case 401:
      return ErrorCode::Unauthorized;
    case 403:
      return ErrorCode::Forbidden;
    case 404:
      return ErrorCode::NotFound;
    case 409:
      return reason == "AlreadyExists" ? ErrorCode::Exists : ErrorCode::Conflict;
    case 422:
      return is_failed_patch(status) ? ErrorCode::Conflict : ErrorCode::Rejected;
    case 429:
      return ErrorCode::TooMany;
    default:
      return http_status >= 300 && http_status < 500 ? ErrorCode::Rejected : ErrorCode::Server;
  }
}

std::optional<std::chrono::milliseconds> retry_after_of(const Value& status,
                                                        const std::string* header) {
  auto seconds = header ? parse_u64(trim(*header)) : std::nullopt;  // dates are not sent
  if (!seconds) {
    const auto from_body = status["details"]["retryAfterSeconds"].if_int();
    if (!from_body || *from_body <= 0) return std::nullopt;
    seconds = static_cast<std::uint64_t>(*from_body);
  }
  const auto bounded = std::min<std::uint64_t>(*seconds, kMaxRetryAfter.count());
  return std::chrono::seconds(bounded);
}

}  // namespace

Error error_from_status(int http_status, std::string_view body, const std::string* retry_after) {
  const auto parsed = json::parse(body);
  const Value status = parsed ? *parsed : Value();
  std::string message = status["message"].string_or("");
  if (message.empty()) message = trim(body);  // "404 page not found", or a proxy's page
  message = "HTTP " + std::to_string(http_status) + ": " + printable(message, 1024);
  return {code_of(http_status, status), std::move(message), http_status,
          retry_after_of(status, retry_after)};
}

}  // namespace nobs::kube
