#include "shared/otel/outcome.h"

#include <algorithm>
#include <array>

#include "shared/base/rfc3339.h"
#include "shared/base/strings.h"
#include "shared/otel/decode.h"

namespace nobs::otel {
namespace {

constexpr std::chrono::milliseconds kMaxWait{300'000};

Protocol protocol_of(const net::Response& answer) {
  const auto* type = answer.headers.find("Content-Type");
  const bool is_json = type != nullptr && lower(*type).starts_with("application/json");
  return is_json ? Protocol::Json : Protocol::Protobuf;
}

// "Sun, 06 Nov 1994 08:49:37 GMT" as RFC 3339, for the one parser of dates; the obsolete forms are not accepted.
std::optional<WallTime> parse_date(std::string_view text) {
  constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto pieces = split(text, ' ');
  if (pieces.size() != 6 || pieces[5] != "GMT") return std::nullopt;
  const auto* const found = std::find(kMonths.begin(), kMonths.end(), pieces[2]);
  if (found == kMonths.end()) return std::nullopt;
  std::string month = std::to_string(found - kMonths.begin() + 1);
  if (month.size() < 2) month.insert(0, "0");
  std::string date(pieces[3]);
  date.append("-").append(month).append("-").append(pieces[1]);
  const auto time = parse_rfc3339(date.append("T").append(pieces[4]).append("Z"));
  return time ? std::optional<WallTime>(*time) : std::nullopt;
}

}  // namespace

std::optional<std::chrono::milliseconds> retry_after(std::string_view value, WallTime now) {
  value = trim(value);
  if (const auto seconds = parse_u64(value)) {
    const auto bounded = std::min<std::uint64_t>(*seconds, kMaxWait.count() / 1000);
    return std::chrono::milliseconds(bounded * 1000);
  }
  const auto date = parse_date(value);
  if (!date) return std::nullopt;
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(*date - now);
  return std::clamp(wait, std::chrono::milliseconds(0), kMaxWait);
}

Outcome judge(const Result<net::Response>& answer, WallTime now) {
  if (!answer) {
    const Error& error = answer.error();
    if (error.code == ErrorCode::Stopped) return {Outcome::Kind::Stopped, 0, {}, error.message};
    // An endless answer: the batch may have been taken, and would be counted again.
    const bool drop = error.code == ErrorCode::Rejected;
    return {drop ? Outcome::Kind::Drop : Outcome::Kind::Retry, 0, {}, error.message};
  }
  const int status = answer->status;
  const Protocol protocol = protocol_of(*answer);
  if (status >= 200 && status < 300) {
    const auto partial = decode_response(answer->body, protocol);
    return {Outcome::Kind::Sent, partial.rejected, {}, partial.message};
  }
  Outcome outcome{.reason = "HTTP status " + std::to_string(status)};
  if (const auto message = decode_status(answer->body, protocol); !message.empty()) {
    outcome.reason += ": " + message;
  }
  if (status == 429 || status == 502 || status == 503 || status == 504) {
    outcome.kind = Outcome::Kind::Retry;
    const auto* header = answer->headers.find("Retry-After");
    if (header != nullptr) outcome.wait = retry_after(*header, now);
  }
  return outcome;
}

}  // namespace nobs::otel
