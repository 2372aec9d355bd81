// HTTP/1.1 as text: heads, framing, bodies. Pure functions over bytes, strict where leniency lets a peer deceive us.
//
// Inside shared/net only; client and server read with the same rules: lines end in CRLF, names are tokens, no folded
// lines, never two lengths, never both Content-Length and Transfer-Encoding (RFC 9112, sections 2 to 7). Values are kept
// as they came: nothing is percent-decoded.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "shared/base/result.h"
#include "shared/net/http.h"

namespace nobs::net {

bool is_token(std::string_view text);         // method, header name
bool is_target(std::string_view text);        // begins with a slash, printable ASCII without spaces
bool is_header_value(std::string_view text);  // no CR, LF, NUL or other control characters but tab

struct Framing {
  enum class Kind { None, Length, Chunked, UntilClose };
  Kind kind = Kind::None;
  std::uint64_t length = 0;
};

struct RequestHead {
  Request request;  // without body
  bool http10 = false;
  Framing framing;
};
struct ResponseHead {
  Response response;   // without body
  bool keeps = false;  // the connection may serve another request after this answer
  Framing framing;
};

// `head` ends with the empty line. An error's http_status is what a server answers: 400, 431, 501 or 505.
Result<RequestHead> parse_request(std::string_view head);
Result<ResponseHead> parse_response(std::string_view head, std::string_view method);

// Appends "Name: value" lines; false when one of them is not allowed on the wire.
bool write_headers(const Headers& headers, std::string& out);

// Takes a body out of its framing, piece by piece.
class BodyReader {
 public:
  explicit BodyReader(Framing framing = {});

  struct Step {
    size_t consumed =
        0;  // bytes of the input that are done with; the rest comes again, with more behind it
    std::string_view piece;  // body, inside the input
    bool bad = false;        // not HTTP: give up
  };
  // One step; when nothing was consumed, more input is needed.
  Step next(std::string_view input);
  bool done() const { return state_ == State::Done; }
  // The body ends with the connection.
  bool until_close() const { return state_ == State::UntilClose; }

 private:
  enum class State { Data, ChunkSize, ChunkData, ChunkEnd, Trailer, UntilClose, Done };
  Step next_line(std::string_view input);

  State state_ = State::Done;
  std::uint64_t left_ = 0;
  size_t trailer_ = 0;
};

}  // namespace nobs::net
