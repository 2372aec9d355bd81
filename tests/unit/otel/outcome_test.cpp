#include "shared/otel/outcome.h"

#include <doctest/doctest.h>

#include "shared/otel/decode.h"
#include "shared/otel/proto.h"

namespace nobs::otel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = Outcome::Kind;

const WallTime kNow{seconds(784'111'777)};  // Sun, 06 Nov 1994 08:49:37 GMT

net::Response answer(int status, std::string body = "", std::string type = "") {
  net::Response response{.status = status, .body = std::move(body)};
  if (!type.empty()) response.headers.set("Content-Type", type);
  return response;
}

std::string partial(std::int64_t rejected, std::string_view message) {
  proto::Writer inner;
  inner.varint(1, static_cast<std::uint64_t>(rejected));
  inner.bytes(2, message);
  proto::Writer out;
  out.fixed64(9, 1);  // a field from the future
  out.bytes(1, inner.text());
  return out.text();
}

TEST_CASE("each status is sent, retried or dropped as the specification says") {
  for (const int status : {200, 202}) CHECK(judge(answer(status), kNow).kind == Kind::Sent);
  for (const int status : {429, 502, 503, 504}) {
    CHECK(judge(answer(status), kNow).kind == Kind::Retry);
  }
  for (const int status : {301, 307, 400, 401, 403, 404, 405, 408, 413, 415, 500, 501, 505}) {
    CHECK(judge(answer(status), kNow).kind == Kind::Drop);
  }
}

TEST_CASE("no whole answer means again; an endless one or a stop does not") {
  const auto of = [](ErrorCode code) { return judge(Error{code, "why", 0, {}}, kNow); };
  CHECK(of(ErrorCode::Unreachable).kind == Kind::Retry);
  CHECK(of(ErrorCode::Timeout).kind == Kind::Retry);
  CHECK(of(ErrorCode::Invalid).kind == Kind::Retry);
  CHECK(of(ErrorCode::Rejected).kind == Kind::Drop);
  CHECK(of(ErrorCode::Stopped).kind == Kind::Stopped);
  CHECK(of(ErrorCode::Timeout).reason == "why");
}

TEST_CASE("Retry-After is seconds or a date, bounded, and only where the batch is sent again") {
  CHECK(retry_after("7", kNow) == milliseconds(7'000));
  CHECK(retry_after(" 0 ", kNow) == milliseconds(0));
  CHECK(retry_after("99999999999", kNow) == milliseconds(300'000));
  CHECK(retry_after("Sun, 06 Nov 1994 08:50:07 GMT", kNow) == milliseconds(30'000));
  CHECK(retry_after("Sun, 06 Nov 1994 08:00:00 GMT", kNow) == milliseconds(0));
  CHECK(retry_after("Sun, 06 Nov 2094 08:00:00 GMT", kNow) == milliseconds(300'000));
  for (const char* wrong : {"", "-1", "soon", "1.5", "Sun, 06 Nov 1994 08:49:37 CET",
                            "Sun, 06 Foo 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT"}) {
    CHECK_FALSE(retry_after(wrong, kNow));
  }
  auto busy = answer(503);
  busy.headers.set("Retry-After", "12");
  CHECK(judge(busy, kNow).wait == milliseconds(12'000));
  busy.status = 500;
  CHECK_FALSE(judge(busy, kNow).wait);
}

TEST_CASE("a partial success is sent, with what the collector rejected and why") {
  auto outcome = judge(answer(200, partial(3, "too \n old"), "application/x-protobuf"), kNow);
  CHECK(outcome.kind == Kind::Sent);
  CHECK(outcome.rejected == 3);
  CHECK(outcome.reason == "too \\x0a old");
  outcome =
      judge(answer(200, R"({"partialSuccess":{"rejectedDataPoints":"4","errorMessage":"no"}})",
                   "application/json; charset=utf-8"),
            kNow);
  CHECK(outcome.rejected == 4);
  CHECK(outcome.reason == "no");
  CHECK(
      judge(answer(200, R"({"partialSuccess":{"rejectedDataPoints":5}})", "application/json"), kNow)
          .rejected == 5);
}

TEST_CASE("a success whose body is nonsense is a success: the points were taken") {
  const std::string half = partial(3, "message");
  for (const std::string& body :
       {std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), std::string("<html>"),
        partial(-1, ""), half.substr(0, 4), std::string("\x0a\x7f")}) {
    for (const char* type : {"application/x-protobuf", "application/json", ""}) {
      const auto outcome = judge(answer(200, body, type), kNow);
      CHECK(outcome.kind == Kind::Sent);
      CHECK(outcome.rejected == 0);
    }
  }
}

TEST_CASE("an error's reason names the status and what the collector said, bounded") {
  proto::Writer status;
  status.varint(1, 3);
  status.bytes(2, "bad \xff request");
  CHECK(judge(answer(400, status.text()), kNow).reason ==
        "HTTP status 400: bad \xEF\xBF\xBD request");
  CHECK(judge(answer(400, R"({"code":3,"message":"bad"})", "application/json"), kNow).reason ==
        "HTTP status 400: bad");
  CHECK(judge(answer(500, "oops", "text/html"), kNow).reason == "HTTP status 500");
  proto::Writer endless;
  endless.bytes(2, std::string(60'000, 'x'));
  CHECK(judge(answer(400, endless.text()), kNow).reason.size() < 400);
}

}  // namespace
}  // namespace nobs::otel
