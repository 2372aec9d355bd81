#include "shared/net/wire.h"

#include <doctest/doctest.h>

#include <utility>

using namespace nobs;
using namespace nobs::net;

namespace {

int request_status(const std::string& head) {
  const auto parsed = parse_request(head);
  return parsed ? 200 : parsed.error().http_status;
}

// The body as it comes out when the input arrives in parts of `part` bytes, then what is left over; or "bad".
std::pair<std::string, std::string> unchunk(std::string_view input, size_t part) {
  BodyReader reader({Framing::Kind::Chunked, 0});
  std::string inbox, body;
  while (!reader.done()) {
    const auto step = reader.next(inbox);
    if (step.bad) return {"bad", ""};
    body += step.piece;
    inbox.erase(0, step.consumed);
    if (step.consumed > 0) continue;
    if (input.empty()) return {"unfinished", ""};
    inbox += input.substr(0, part);
    input.remove_prefix(std::min(part, input.size()));
  }
  return {body, inbox + std::string(input)};
}

}  // namespace

TEST_CASE("a request head gives method, target and headers as they were sent, nothing decoded") {
  const auto parsed =
      parse_request("PATCH /a%20b?c=%0d%0a HTTP/1.1\r\nHost: x\r\nX-A:  a%0d%0aEvil: 1\t \r\n\r\n");
  REQUIRE(parsed);
  CHECK(parsed->request.method == "PATCH");
  CHECK(parsed->request.target == "/a%20b?c=%0d%0a");
  REQUIRE(parsed->request.headers.list.size() == 2);
  CHECK(*parsed->request.headers.find("x-a") == "a%0d%0aEvil: 1");
}

TEST_CASE("a request that two readers could understand differently is refused") {
  const std::string line = "POST / HTTP/1.1\r\nHost: x\r\n";
  CHECK(request_status(line + "Content-Length: 5\r\n\r\n") == 200);
  for (const char* headers : {
           "Content-Length: 5\r\nContent-Length: 6\r\n",
           "Content-Length: 5\r\nContent-Length: 5\r\n",
           "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
           "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
           "Content-Length: +5\r\n",
           "Content-Length: 5, 5\r\n",
           "Content-Length: \r\n",
           "Content-Length: 99999999999999999999\r\n",
           "Content-Length : 5\r\n",
           " Content-Length: 5\r\n",
           "A: b\r\n folded\r\n",
           "A: b\r\n\tfolded\r\n",
           "no colon\r\n",
           ": no name\r\n",
           "N\xc3\xa4me: x\r\n",
           "A: bare\nB: newline\r\n",
           "A: bare\rreturn\r\n",
           "Host: y\r\n",
       }) {
    CAPTURE(headers);
    CHECK(request_status(line + headers + "\r\n") == 400);
  }
  CHECK(request_status(line + std::string("A: \0b\r\n\r\n", 9)) == 400);
  CHECK(request_status(line + "Transfer-Encoding: gzip, chunked\r\n\r\n") == 501);
}

TEST_CASE("a request line is a token, a path and a version, with one space between them") {
  for (const char* line :
       {"", "GET", "GET /", "GET  / HTTP/1.1", "GET / HTTP/1.1 ", "GET / HTTQ/1.1",
        "GET http://x/ HTTP/1.1", "GET * HTTP/1.1", "G\"T / HTTP/1.1", "GET /\x7f HTTP/1.1",
        "GET /\xc3\xa4 HTTP/1.1", "GET /\ta HTTP/1.1"}) {
    CAPTURE(line);
    CHECK(request_status(std::string(line) + "\r\nHost: x\r\n\r\n") == 400);
  }
  CHECK(request_status("GET / HTTP/2.0\r\nHost: x\r\n\r\n") == 505);
  CHECK(request_status("GET / HTTP/1.1\r\n\r\n") == 400);
  CHECK(request_status("GET / HTTP/1.0\r\n\r\n") == 200);
}

TEST_CASE("a thousand headers in a small head do not become a thousand strings") {
  std::string head = "GET / HTTP/1.1\r\nHost: x\r\n";
  for (int i = 0; i < 1000; ++i) head += "a:\r\n";
  CHECK(request_status(head + "\r\n") == 431);
}

TEST_CASE("chunks give the same body however the bytes arrive, and leave alone what follows") {
  const std::string_view input =
      "4\r\nWiki\r\nA;name=\"v\"\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\nnext";
  for (size_t part = 1; part <= input.size(); ++part) {
    CAPTURE(part);
    CHECK(unchunk(input, part) == std::pair<std::string, std::string>("Wiki0123456789", "next"));
  }
}

TEST_CASE("broken chunks are refused") {
  for (const char* input : {"x\r\n", "-1\r\n", "+1\r\n", " 1\r\na\r\n", "0x1\r\na\r\n", "\r\n",
                            "1 2\r\n", "2\r\nabc\r\n", "1\nab\r\n0\r\n\r\n",
                            "fffffffffffffffff\r\n", "1;\x01\r\na\r\n0\r\n\r\n"}) {
    CAPTURE(input);
    CHECK(unchunk(input, 1000).first == "bad");
  }
  CHECK(unchunk("1;" + std::string(1000, 'x'), 16).first == "bad");
  CHECK(unchunk("1;" + std::string(1000, 'x') + "\r\na\r\n0\r\n\r\n", 9000).first == "bad");
  std::string trailers = "0\r\n";
  for (int i = 0; i < 1000; ++i) trailers += "a: 0123456789\r\n";
  CHECK(unchunk(trailers, 100).first == "bad");
}

TEST_CASE("an answer says how its body ends, and whether the connection can be used again") {
  const auto parse = [](const std::string& head, std::string_view method = "GET") {
    auto parsed = parse_response("HTTP/1.1 " + head + "\r\n\r\n", method);
    REQUIRE(parsed);
    return *parsed;
  };
  using Kind = Framing::Kind;
  CHECK(parse("200 OK\r\nContent-Length: 7").framing.length == 7);
  CHECK(parse("200 OK\r\nContent-Length: 7").keeps);
  CHECK_FALSE(parse("200 OK\r\nContent-Length: 7\r\nConnection: Close").keeps);
  CHECK(parse("200\r\nTransfer-Encoding: Chunked").framing.kind == Kind::Chunked);
  CHECK(parse("200 OK").framing.kind == Kind::UntilClose);
  CHECK_FALSE(parse("200 OK").keeps);
  CHECK(parse("200 OK\r\nContent-Length: 7", "HEAD").framing.kind == Kind::None);
  CHECK(parse("204 No Content").framing.kind == Kind::None);
  CHECK(parse("304 Not Modified\r\nContent-Length: 7").framing.kind == Kind::None);
  for (const char* head : {"HTTP/1.1 99 X\r\n\r\n", "HTTP/1.1 2000 X\r\n\r\n", "HTTP/2 200\r\n\r\n",
                           "SSH-2.0-OpenSSH\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n"})
    CHECK_FALSE(parse_response(head, "GET"));
}

TEST_CASE("headers are found, replaced and removed whatever their case") {
  Headers headers{{{"Accept", "a"}, {"accept", "b"}}};
  CHECK(*headers.find("ACCEPT") == "a");
  CHECK(headers.count("Accept") == 2);
  headers.set("aCCEPT", "c");
  CHECK(headers.list.size() == 1);
  CHECK(*headers.find("accept") == "c");
  headers.remove("Accept");
  CHECK(headers.find("accept") == nullptr);
}
