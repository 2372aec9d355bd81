#include "shared/net/client.h"

#include <zlib.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "shared/base/strings.h"
#include "shared/net/dial.h"
#include "shared/net/tls.h"
#include "shared/net/wire.h"

namespace nobs::net {

namespace {

constexpr size_t kReadSize = 16U << 10;
constexpr size_t kMaxHead = 64U << 10;
constexpr int kMaxInterim = 8;  // 1xx answers before the real one

using OnStart = std::function<bool(const Response&)>;
using OnPiece = std::function<Result<void>(std::string_view)>;

Error from_io(Io io, const std::string& peer, const std::string& what) {
  switch (io) {
    case Io::Timeout:
      return {ErrorCode::Timeout, peer + ": " + what + ": timed out", 0, {}};
    case Io::Stopped:
      return {ErrorCode::Stopped, peer + ": " + what + ": stopped", 0, {}};
    case Io::Closed:
      return {ErrorCode::Unreachable, peer + ": " + what + ": closed by the peer", 0, {}};
    default:
      return {ErrorCode::Unreachable, peer + ": " + what, 0, {}};
  }
}

class Inflater {
 public:
  Inflater() { ready_ = ::inflateInit2(&stream_, 15 + 16) == Z_OK; }  // 16: gzip
  ~Inflater() { ::inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Gives pieces of a bounded size, however much the input unfolds to.
  Result<void> feed(std::string_view input, const OnPiece& on_piece) {
    char buffer[kReadSize];
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
    stream_.avail_in = static_cast<uInt>(input.size());
    while (ready_) {
      if (ended_) {  // members may follow each other
        if (stream_.avail_in == 0) return {};
        ready_ = ::inflateReset(&stream_) == Z_OK;
        ended_ = false;
      }
      stream_.next_out = reinterpret_cast<Bytef*>(buffer);
      stream_.avail_out = sizeof buffer;
      const int result = ::inflate(&stream_, Z_NO_FLUSH);
      if (result == Z_BUF_ERROR) return {};  // needs more input
      if (result != Z_OK && result != Z_STREAM_END) break;
      ended_ = result == Z_STREAM_END;
      if (const size_t made = sizeof buffer - stream_.avail_out; made > 0)
        if (auto taken = on_piece({buffer, made}); !taken) return taken;
    }
    ready_ = false;
    return Error{ErrorCode::Unreachable, "the answer is not valid gzip", 0, {}};
  }
  bool ended() const { return ended_; }

 private:
  z_stream stream_{};
  bool ready_ = false;
  bool ended_ = false;
};

// The request as bytes, or why it must not be sent. The message never quotes a value: it may be a token.
Result<std::string> serialize(const Request& request, const Endpoint& endpoint) {
  if (!is_token(request.method)) return invalid("request: the method is not a token");
  if (!is_target(request.target))
    return invalid("request: the target must begin with / and be percent-encoded");
  Headers headers = request.headers;
  for (const auto* ours : {"Connection", "Content-Length", "Transfer-Encoding"})
    if (headers.find(ours) != nullptr)
      return invalid(std::string("request: ") + ours + " is not the caller's to set");
  if (headers.find("Host") == nullptr) {
    const bool v6 = endpoint.host.find(':') != std::string::npos;
    std::string host = v6 ? '[' + endpoint.host + ']' : endpoint.host;
    const int usual = endpoint.tls ? 443 : 80;
    if (endpoint.unix_socket.empty() && endpoint.port != usual)
      host += ':' + std::to_string(endpoint.port);
    headers.list.insert(headers.list.begin(), {"Host", host.empty() ? "localhost" : host});
  }
  if (headers.find("User-Agent") == nullptr) headers.set("User-Agent", endpoint.user_agent);
  const bool may_be_empty = request.method == "GET" || request.method == "HEAD" ||
                            request.method == "DELETE" || request.method == "OPTIONS";
  if (!request.body.empty() || !may_be_empty)
    headers.set("Content-Length", std::to_string(request.body.size()));
  std::string out = request.method + ' ' + request.target + " HTTP/1.1\r\n";
  if (!write_headers(headers, out))
    return invalid("request: a header name or value is not allowed on the wire");
  return out + "\r\n" + request.body;
}

bool has_word(const Headers& headers, std::string_view name, std::string_view word) {
  const auto* value = headers.find(name);
  return value != nullptr && lower(*value).find(word) != std::string::npos;
}

// One request and its answer on one connection.
struct Exchange {
  Connection& connection;
  const std::string& peer;
  const Wake& wake;
  TimePoint total;                    // of everything, for send(); far away for stream()
  std::chrono::milliseconds silence;  // of one wait
  std::string inbox;
  bool keeps = false;  // afterwards: the connection may be used again

  Until until() const {
    return {std::min(total, std::chrono::steady_clock::now() + silence), &wake};
  }

  // The peer's end is a normal end only where `closed` is given.
  Result<void> receive(const Until& limit, bool* closed = nullptr) {
    const size_t before = inbox.size();
    size_t got = 0;
    inbox.resize(before + kReadSize);
    const Io io = read_some(connection, inbox.data() + before, kReadSize, got, limit);
    inbox.resize(before + got);
    if (closed != nullptr) *closed = io == Io::Closed;
    if (io == Io::Ok || (io == Io::Closed && closed != nullptr)) return {};
    return from_io(io, peer, io == Io::Failed ? connection.failure() : "reading the answer");
  }

  Result<ResponseHead> read_head(const std::string& method) {
    const Until limit = until();  // one for the whole head: drops of it do not count as progress
    for (int i = 0; i < kMaxInterim;) {
      const size_t end = inbox.find("\r\n\r\n");
      if (end == std::string::npos) {
        if (inbox.size() > kMaxHead)
          return Error{ErrorCode::Unreachable, peer + ": the answer's head is too large", 0, {}};
        if (auto received = receive(limit); !received) return received.error();
        continue;
      }
      auto head = parse_response(std::string_view(inbox).substr(0, end + 4), method);
      if (!head)
        return Error{ErrorCode::Unreachable, peer + ": the answer: " + head.error().message, 0, {}};
      inbox.erase(0, end + 4);
      if (head->response.status >= 200) return head;
      ++i;
    }
    return Error{ErrorCode::Unreachable, peer + ": too many interim answers", 0, {}};
  }

  Result<void> read_body(const Framing& framing, const OnPiece& on_piece) {
    BodyReader body(framing);
    while (!body.done()) {
      size_t at = 0;
      while (!body.done()) {
        const auto step = body.next(std::string_view(inbox).substr(at));
        if (step.bad)
          return Error{ErrorCode::Unreachable, peer + ": the answer's chunks are broken", 0, {}};
        if (!step.piece.empty())
          if (auto taken = on_piece(step.piece); !taken) return taken;
        if (step.consumed == 0) break;
        at += step.consumed;
      }
      inbox.erase(0, at);
      if (body.done()) break;
      bool closed = false;
      if (auto received = receive(until(), body.until_close() ? &closed : nullptr); !received)
        return received;
      if (closed) return {};
    }
    return {};
  }

  Result<Response> run(const Request& request, const std::string& bytes, const OnStart& on_start,
                       const OnPiece& on_piece) {
    const Io sent = write_all(connection, bytes, until());
    if (sent == Io::Timeout || sent == Io::Stopped)
      return from_io(sent, peer, "sending the request");
    const std::string failure = connection.failure();
    // A server that refuses a large body answers and closes before it has read all: the answer counts.
    auto head = read_head(request.method);
    if (!head) return sent == Io::Ok ? head.error() : from_io(Io::Failed, peer, failure);
    std::optional<Inflater> inflater;
    if (has_word(request.headers, "Accept-Encoding", "gzip") &&
        has_word(head->response.headers, "Content-Encoding", "gzip") &&
        head->framing.kind != Framing::Kind::None) {
      inflater.emplace();
      head->response.headers.remove("Content-Encoding");
      head->response.headers.remove("Content-Length");
    }
    if (!on_start(head->response)) return Error{ErrorCode::Stopped, "the caller ended it", 0, {}};
    auto read = read_body(head->framing, [&](std::string_view piece) {
      return inflater ? inflater->feed(piece, on_piece) : on_piece(piece);
    });
    if (!read) return read.error();
    if (inflater && !inflater->ended())
      return Error{ErrorCode::Unreachable, peer + ": the answer's gzip ends early", 0, {}};
    keeps = head->keeps && inbox.empty() && sent == Io::Ok;
    return std::move(head->response);
  }
};

}  // namespace

struct Client::State {
  Result<Connection> connect(const Until& until);
  std::optional<Connection> take_idle();
  void keep(Connection connection);

  const Endpoint endpoint;
  const size_t max_idle;
  const std::string peer;
  std::mutex mutex;
  std::vector<Connection> idle;
  SslContext tls;  // kept only when it comes from no file
};

Result<Connection> Client::State::connect(const Until& until) {
  SslContext context;
  if (endpoint.tls) {
    const std::lock_guard lock(mutex);
    context = tls;
  }
  if (endpoint.tls && !context) {
    auto made = client_context(*endpoint.tls);
    if (!made) return made.error();
    context = std::move(*made);
    const std::lock_guard lock(mutex);
    if (!reads_files(*endpoint.tls)) tls = context;
  }
  SslPtr session;
  if (endpoint.tls) {
    auto made = client_session(context, *endpoint.tls, endpoint.host);
    if (!made) return made.error();
    session = std::move(*made);
  }
  auto fd = dial(endpoint, until);
  if (!fd) return fd.error();
  Connection connection(std::move(*fd), std::move(session));
  if (const Io io = handshake(connection, until); io != Io::Ok)
    return from_io(io, peer, io == Io::Failed ? connection.failure() : "TLS handshake");
  return connection;
}

std::optional<Connection> Client::State::take_idle() {
  const std::lock_guard lock(mutex);
  while (!idle.empty()) {
    Connection connection = std::move(idle.back());
    idle.pop_back();
    // A server that closed while we were idle has said so by now; sending into it would fail.
    if (!connection.stirs()) return connection;
  }
  return std::nullopt;
}

void Client::State::keep(Connection connection) {
  const std::lock_guard lock(mutex);
  if (idle.size() < max_idle) idle.push_back(std::move(connection));
}

Client::Client(Endpoint endpoint, size_t max_idle) {
  std::string peer = endpoint.unix_socket.empty()
                         ? endpoint.host + " port " + std::to_string(endpoint.port)
                         : endpoint.unix_socket;
  // An aggregate that holds a mutex: make_unique can neither brace nor move it.
  // NOLINTNEXTLINE(modernize-make-unique)
  state_.reset(new State{std::move(endpoint), max_idle, std::move(peer), {}, {}, {}});
}

Client::~Client() = default;

Result<Response> Client::send(const Request& request, const Limits& limits,
                              const std::stop_token& stop) {
  const auto bytes = serialize(request, state_->endpoint);
  if (!bytes) return bytes.error();
  const auto start = std::chrono::steady_clock::now();
  const auto deadline = start + limits.total;
  const Wake wake(stop);
  auto connection = state_->take_idle();
  for (bool kept = connection.has_value();; kept = false) {
    if (!connection) {
      const auto now = std::chrono::steady_clock::now();
      auto made = state_->connect({std::min(deadline, now + limits.connect), &wake});
      if (!made) return made.error();
      connection.emplace(std::move(*made));
    }
    std::string body;
    Exchange exchange{*connection, state_->peer, wake, deadline, limits.total, {}};
    auto answer = exchange.run(
        request, *bytes, [](const Response&) { return true; },
        [&](std::string_view piece) -> Result<void> {
          if (piece.size() > limits.max_body - body.size())
            return Error{ErrorCode::Rejected,
                         state_->peer + ": the answer is larger than " +
                             std::to_string(limits.max_body) + " bytes",
                         0,
                         {}};
          body += piece;
          return {};
        });
    if (answer) {
      answer->body = std::move(body);
      if (exchange.keeps) state_->keep(std::move(*connection));
      return answer;
    }
    connection.reset();
    const bool again =
        kept && request.method == "GET" && answer.error().code == ErrorCode::Unreachable;
    if (!again) return answer;
  }
}

Result<Response> Client::stream(const Request& request, const Limits& limits,
                                const std::stop_token& stop,
                                const std::function<bool(const Response&)>& on_start,
                                const std::function<bool(std::string_view)>& on_piece) {
  const auto bytes = serialize(request, state_->endpoint);
  if (!bytes) return bytes.error();
  const Wake wake(stop);
  auto connection = state_->connect({std::chrono::steady_clock::now() + limits.connect, &wake});
  if (!connection) return connection.error();
  Exchange exchange{*connection, state_->peer, wake, TimePoint::max(), limits.silence, {}};
  return exchange.run(request, *bytes, on_start, [&](std::string_view piece) -> Result<void> {
    if (!on_piece(piece)) return Error{ErrorCode::Stopped, "the caller ended it", 0, {}};
    return {};
  });
}

}  // namespace nobs::net
