#include "shared/net/wire.h"

#include <algorithm>
#include <charconv>

#include "shared/base/strings.h"

namespace nobs::net {

namespace {

constexpr size_t kMaxHeaders = 128;       // a header costs us more memory than its bytes
constexpr size_t kMaxChunkLine = 256;     // size and extensions
constexpr size_t kMaxTrailer = 8U << 10;  // read and thrown away

Error bad(std::string message, int status = 400) {
  return {ErrorCode::Invalid, std::move(message), status, {}};
}

// The text before the next CRLF, which is removed with it.
std::optional<std::string_view> take_line(std::string_view& text) {
  const size_t end = text.find("\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  const auto line = text.substr(0, end);
  text.remove_prefix(end + 2);
  return line;
}

std::string_view take_word(std::string_view& line) {
  const size_t end = std::min(line.find(' '), line.size());
  const auto word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

std::optional<Error> parse_headers(std::string_view text, Headers& headers) {
  for (;;) {
    const auto line = take_line(text);
    if (!line) return bad("the head does not end in an empty line");
    if (line->empty()) return std::nullopt;
    const size_t colon = line->find(':');
    if (colon == std::string_view::npos || !is_token(line->substr(0, colon)))
      return bad("a header line without a valid name");
    std::string_view value = line->substr(colon + 1);
    while (!value.empty() && (value.front() == ' ' || value.front() == '\t'))
      value.remove_prefix(1);
    while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
    if (!is_header_value(value)) return bad("a header value with control characters");
    if (headers.list.size() == kMaxHeaders) return bad("too many headers", 431);
    headers.list.emplace_back(line->substr(0, colon), value);
  }
}

// What the two headers say; nothing when neither is there.
Result<std::optional<Framing>> framing_of(const Headers& headers) {
  const auto* length = headers.find("Content-Length");
  const auto* coding = headers.find("Transfer-Encoding");
  if (headers.count("Content-Length") + headers.count("Transfer-Encoding") > 1)
    return bad("more than one Content-Length or Transfer-Encoding");
  if (coding != nullptr) {
    if (lower(*coding) != "chunked") return bad("a Transfer-Encoding other than chunked", 501);
    return std::optional(Framing{Framing::Kind::Chunked, 0});
  }
  if (length == nullptr) return std::optional<Framing>();
  const auto number = parse_u64(*length);
  if (!number) return bad("a Content-Length that is not a number");
  return std::optional(
      Framing{*number == 0 ? Framing::Kind::None : Framing::Kind::Length, *number});
}

bool is_printable_ascii(char c) { return c > ' ' && c < 0x7f; }

}  // namespace

bool is_token(std::string_view text) {
  constexpr std::string_view kSymbols = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kSymbols.find(c) != std::string_view::npos;
  });
}

bool is_target(std::string_view text) {
  return text.starts_with('/') && std::all_of(text.begin(), text.end(), is_printable_ascii);
}

bool is_header_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == '\t' || (byte >= ' ' && byte != 0x7f);
  });
}

Result<RequestHead> parse_request(std::string_view head) {
  RequestHead result;
  std::string_view line = take_line(head).value_or("");
  result.request.method = take_word(line);
  result.request.target = take_word(line);
  if (!is_token(result.request.method) || !is_target(result.request.target))
    return bad("not a request line");
  if (line != "HTTP/1.1" && line != "HTTP/1.0")
    return line.size() == 8 && line.starts_with("HTTP/") ? bad("not HTTP/1", 505)
                                                         : bad("not a request line");
  result.http10 = line == "HTTP/1.0";
  if (auto error = parse_headers(head, result.request.headers)) return *error;
  if (const size_t hosts = result.request.headers.count("Host");
      hosts > 1 || (hosts == 0 && !result.http10))
    return bad("not exactly one Host header");
  auto framing = framing_of(result.request.headers);
  if (!framing) return framing.error();
  result.framing = framing->value_or(Framing{});
  if (result.http10 && result.framing.kind == Framing::Kind::Chunked)
    return bad("chunks in HTTP/1.0");
  return result;
}

Result<ResponseHead> parse_response(std::string_view head, std::string_view method) {
  ResponseHead result;
  std::string_view line = take_line(head).value_or("");
  const auto version = take_word(line);
  const auto status = take_word(line);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return bad("not an HTTP/1 status line");
  const auto number = parse_u64(status);
  if (status.size() != 3 || !number || *number < 100) return bad("not an HTTP status");
  result.response.status = static_cast<int>(*number);
  auto& headers = result.response.headers;
  if (auto error = parse_headers(head, headers)) return *error;
  auto framing = framing_of(headers);
  if (!framing) return framing.error();
  if (method != "HEAD" && *number >= 200 && *number != 204 && *number != 304)
    result.framing = framing->value_or(Framing{Framing::Kind::UntilClose, 0});
  const auto* connection = headers.find("Connection");
  result.keeps = version == "HTTP/1.1" && result.framing.kind != Framing::Kind::UntilClose &&
                 (connection == nullptr || lower(*connection).find("close") == std::string::npos);
  return result;
}

bool write_headers(const Headers& headers, std::string& out) {
  for (const auto& [name, value] : headers.list) {
    if (!is_token(name) || !is_header_value(value)) return false;
    out.append(name).append(": ").append(value).append("\r\n");
  }
  return true;
}

BodyReader::BodyReader(Framing framing) : left_(framing.length) {
  switch (framing.kind) {
    case Framing::Kind::None:
      state_ = State::Done;
      break;
    case Framing::Kind::Length:
      state_ = State::Data;
      break;
    case Framing::Kind::Chunked:
      state_ = State::ChunkSize;
      break;
    case Framing::Kind::UntilClose:
      state_ = State::UntilClose;
      break;
  }
}

BodyReader::Step BodyReader::next(std::string_view input) {
  switch (state_) {
    case State::Done:
      return {};
    case State::UntilClose:
      return {input.size(), input, false};
    case State::Data:
    case State::ChunkData: {
      const auto piece =
          input.substr(0, static_cast<size_t>(std::min<std::uint64_t>(left_, input.size())));
      left_ -= piece.size();
      if (left_ == 0) state_ = state_ == State::Data ? State::Done : State::ChunkEnd;
      return {piece.size(), piece, false};
    }
    case State::ChunkSize:
    case State::ChunkEnd:
    case State::Trailer:
      return next_line(input);
  }
  return {};
}

BodyReader::Step BodyReader::next_line(std::string_view input) {
  std::string_view rest = input;
  const auto line = take_line(rest);
  if (!line) {
    const size_t limit = state_ == State::ChunkEnd ? 1 : kMaxChunkLine;
    return {0, {}, input.size() > limit};
  }
  const Step step{line->size() + 2, {}, false};
  const Step wrong{0, {}, true};
  if (state_ == State::ChunkEnd) {
    state_ = State::ChunkSize;
    return line->empty() ? step : wrong;
  }
  if (state_ == State::Trailer) {
    trailer_ += step.consumed;
    if (line->empty()) state_ = State::Done;
    return trailer_ > kMaxTrailer ? wrong : step;
  }
  const auto [end, error] = std::from_chars(line->data(), line->data() + line->size(), left_, 16);
  const auto digits = static_cast<size_t>(end - line->data());
  const auto after = line->substr(digits);
  if (error != std::errc() || line->size() > kMaxChunkLine || !is_header_value(after)) return wrong;
  // An extension begins with a semicolon, before which RFC 9112 tolerates white space.
  if (const auto extension = trim(after); !extension.empty() && !extension.starts_with(';'))
    return wrong;
  state_ = left_ == 0 ? State::Trailer : State::ChunkData;
  return step;
}

}  // namespace nobs::net
