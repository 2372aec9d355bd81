#include "shared/net/server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "shared/net/listener.h"
#include "shared/net/tls.h"
#include "shared/net/wire.h"

// One thread does the reading and writing of all connections, so that a slow client costs a little memory and never a
// thread; pool threads only run handlers; a streamed answer gets a thread of its own.

namespace nobs::net {

using namespace std::chrono_literals;

namespace {

constexpr auto kGrace = 250ms;  // a connection this old may be closed to make room for a new one
constexpr auto kDrain = 1s;  // reading on after the answer: a close with unread bytes destroys it
constexpr auto kAcceptPause =
    100ms;  // after EMFILE and its kind, which poll() would repeat at once
constexpr size_t kReadSize = 16U << 10;

TimePoint now() { return std::chrono::steady_clock::now(); }

// Status line and headers with the empty line. A handler's header that is not allowed makes it a 500 without body.
std::string head_of(Answer& answer, const char* framing_name, const std::string& framing) {
  const auto compose = [&](const Headers& headers, std::string& head) {
    head = "HTTP/1.1 " + std::to_string(answer.status) + ' ' +
           std::string(reason_phrase(answer.status)) + "\r\n";
    return write_headers(headers, head);
  };
  for (const auto* ours : {"Connection", "Content-Length", "Transfer-Encoding"})
    answer.headers.remove(ours);
  std::string head;
  if (answer.status < 200 || answer.status > 999 || !compose(answer.headers, head)) {
    answer = Answer(500, {}, "");
    compose({}, head);
    return head + "Content-Length: 0\r\nConnection: close\r\n\r\n";
  }
  if (!framing.empty()) head.append(framing_name).append(": ").append(framing).append("\r\n");
  return head + "Connection: close\r\n\r\n";
}

std::string whole(Answer answer, bool without_body) {
  const bool bodiless = answer.status == 204 || answer.status == 304;
  std::string text = head_of(answer, "Content-Length",
                             bodiless ? std::string() : std::to_string(answer.body.size()));
  if (!without_body && !bodiless) text += answer.body;
  return text;
}

// One client. Handed over between threads as a whole: while Working, only a pool thread touches it.
struct Peer {
  enum class Phase { Handshake, Head, Body, Working, Writing, Draining };
  Connection connection;
  TimePoint since;     // of the connection
  TimePoint deadline;  // of the phase
  Phase phase = Phase::Handshake;
  Io wants = Io::WantRead;
  std::string in;  // received and not yet understood
  RequestHead head;
  BodyReader body;
  Answer answer;
  std::string out;
  size_t sent = 0;
  bool drains = false;  // after the answer: not everything that came was read
};

struct StreamThread {
  std::atomic<bool> done{false};
  std::jthread thread;
};

}  // namespace

struct Server::State {
  State(ServerOptions options_, Handler handler_)
      : options(std::move(options_)), handler(std::move(handler_)), wake(stopping.get_token()) {}

  // ---- the loop's
  void loop();
  void accept_some();
  std::optional<TimePoint> room_at();
  bool advance(Peer& peer);
  bool understand(Peer& peer);
  void refuse(Peer& peer, int status);
  void begin_writing(Peer& peer, std::string text);
  void finish(Peer& peer);
  void collect_answers();
  void start_stream(Peer& peer);
  // ---- other threads'
  void work();
  void run_stream(Connection connection, const std::string& head, bool chunked,
                  const Answer& answer);

  const ServerOptions options;
  const Handler handler;
  std::stop_source stopping;
  Wake wake;
  SslContext tls;
  Listener listener;
  UniqueFd answered;  // eventfd: `done` is not empty

  std::list<Peer> peers;  // in the order they came
  TimePoint accept_again;
  std::list<StreamThread> streams;

  std::mutex mutex;
  std::condition_variable_any work_there;
  std::deque<Peer*> waiting, done;

  std::vector<std::jthread> workers;
  std::jthread looper;
};

// ---------------------------------------------------------------- pool threads

void Server::State::work() {
  std::unique_lock lock(mutex);
  while (work_there.wait(lock, stopping.get_token(), [&] { return !waiting.empty(); })) {
    if (stopping.stop_requested()) return;
    Peer* peer = waiting.front();
    waiting.pop_front();
    lock.unlock();
    try {
      peer->answer = handler(peer->head.request);
    } catch (...) {  // its text may hold a secret
      peer->answer = Answer(500, {}, "");
    }
    lock.lock();
    done.push_back(peer);
    ::eventfd_write(answered.get(), 1);
  }
}

void Server::State::run_stream(Connection connection, const std::string& head, bool chunked,
                               const Answer& answer) {
  bool whole_so_far = true;
  const auto put = [&](std::string_view bytes) {
    return write_all(connection, bytes, {now() + options.deadline, &wake}) == Io::Ok;
  };
  const Writer writer = [&](std::string_view piece) {
    whole_so_far = whole_so_far && !wake.stopped() && !connection.peer_gone();
    if (!whole_so_far || piece.empty()) return whole_so_far;  // an empty chunk would end the body
    if (!chunked) return whole_so_far = put(piece);
    char size[24];
    const int digits = std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
    std::string chunk;
    chunk.reserve(piece.size() + 24);
    chunk.append(size, static_cast<size_t>(digits)).append(piece).append("\r\n");
    return whole_so_far = put(chunk);
  };
  whole_so_far = put(head);
  try {
    if (whole_so_far) answer.stream(writer);
    if (answer.cut && answer.cut()) whole_so_far = false;
  } catch (...) {
    whole_so_far = false;
  }
  // Without the last chunk the client knows that something is missing.
  if (whole_so_far && chunked) whole_so_far = put("0\r\n\r\n");
  if (whole_so_far) connection.close_write();
}

// ---------------------------------------------------------------- the loop

void Server::State::loop() {
  std::vector<pollfd> polls;
  std::vector<std::list<Peer>::iterator> polled;
  while (!stopping.stop_requested()) {
    TimePoint next = now() + 60s;
    const auto room = room_at();
    const bool accepting = room && *room <= now();
    if (room && !accepting) next = std::min(next, *room);
    polls.assign({{wake.fd(), POLLIN, 0},
                  {answered.get(), POLLIN, 0},
                  {accepting ? listener.fd() : -1, POLLIN, 0}});
    polled.clear();
    for (auto peer = peers.begin(); peer != peers.end(); ++peer) {
      if (peer->phase == Peer::Phase::Working) continue;
      const short events = peer->wants == Io::WantWrite ? POLLOUT : POLLIN;
      polls.push_back({peer->connection.fd(), events, 0});
      polled.push_back(peer);
      next = std::min(next, peer->deadline);
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - now()).count();
    if (::poll(polls.data(), polls.size(), static_cast<int>(std::max<std::int64_t>(left, 0))) < 0)
      continue;
    for (size_t i = 0; i < polled.size(); ++i) {
      const bool alive = polls[i + 3].revents == 0 || advance(*polled[i]);
      if (!alive || (polled[i]->phase != Peer::Phase::Working && now() >= polled[i]->deadline))
        peers.erase(polled[i]);
    }
    if (polls[1].revents != 0) collect_answers();
    if (polls[2].revents != 0) accept_some();
  }
}

// When the next connection can be taken: now, later, or not before a handler is done (nothing).
std::optional<TimePoint> Server::State::room_at() {
  if (peers.size() < options.max_waiting + options.threads) return accept_again;
  const auto oldest = std::find_if(peers.begin(), peers.end(), [](const Peer& peer) {
    return peer.phase != Peer::Phase::Working;
  });
  if (oldest == peers.end()) return std::nullopt;
  return std::max(accept_again, oldest->since + kGrace);
}

void Server::State::accept_some() {
  for (;;) {
    const auto room = room_at();
    if (!room || *room > now()) return;
    UniqueFd fd(::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) {
      const bool none = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
      if (!none) accept_again = now() + kAcceptPause;
      return;
    }
    if (peers.size() >= options.max_waiting + options.threads)
      peers.erase(std::find_if(peers.begin(), peers.end(), [](const Peer& peer) {
        return peer.phase != Peer::Phase::Working;
      }));
    SslPtr ssl;
    if (tls) {
      ssl = server_session(tls);
      if (!ssl) continue;
    }
    auto& peer = peers.emplace_back();
    peer.connection = Connection(std::move(fd), std::move(ssl));
    peer.since = now();
    peer.deadline = peer.since + options.deadline;
  }
}

// Does what is possible without waiting; false when the connection is over.
bool Server::State::advance(Peer& peer) {
  for (;;) {
    size_t count = 0;
    Io io = Io::Ok;
    switch (peer.phase) {
      case Peer::Phase::Handshake:
        io = peer.connection.handshake();
        if (io == Io::Ok) peer.phase = Peer::Phase::Head;
        break;
      case Peer::Phase::Head:
      case Peer::Phase::Body: {
        const size_t before = peer.in.size();
        peer.in.resize(before + kReadSize);
        io = peer.connection.read(peer.in.data() + before, kReadSize, count);
        peer.in.resize(before + count);
        if (io == Io::Ok && !understand(peer)) return true;
        break;
      }
      case Peer::Phase::Writing:
        io = peer.connection.write(std::string_view(peer.out).substr(peer.sent), count);
        peer.sent += count;
        if (io == Io::Ok && peer.sent == peer.out.size()) {
          peer.connection.close_write();
          if (!peer.drains) return false;
          peer.phase = Peer::Phase::Draining;
          peer.deadline = now() + kDrain;
          peer.out = {};
        }
        break;
      case Peer::Phase::Draining:
        io = peer.connection.discard();
        if (io != Io::Ok) break;
        peer.wants = Io::WantRead;
        return true;  // others first: this one may send for ever
      case Peer::Phase::Working:
        return true;
    }
    if (io == Io::WantRead || io == Io::WantWrite) {
      peer.wants = io;
      return true;
    }
    if (io != Io::Ok) return false;
  }
}

// Looks at what has arrived. False when the request went to a pool thread.
bool Server::State::understand(Peer& peer) {
  if (peer.phase == Peer::Phase::Head) {
    const size_t end = peer.in.find("\r\n\r\n");
    const size_t size = end == std::string::npos ? peer.in.size() : end + 4;
    if (size > options.max_head) return refuse(peer, 431), true;
    if (end == std::string::npos) return true;
    auto head = parse_request(std::string_view(peer.in).substr(0, size));
    if (!head) return refuse(peer, head.error().http_status), true;
    peer.in.erase(0, size);
    peer.head = std::move(*head);
    const auto& method = peer.head.request.method;
    if (options.max_body == 0 && method != "GET" && method != "HEAD")
      return refuse(peer, 405), true;
    if (peer.head.framing.length > options.max_body) return refuse(peer, 413), true;
    peer.body = BodyReader(peer.head.framing);
    peer.phase = Peer::Phase::Body;
  }
  auto& body = peer.head.request.body;
  size_t at = 0;
  while (!peer.body.done()) {
    const auto step = peer.body.next(std::string_view(peer.in).substr(at));
    if (step.bad) return refuse(peer, 400), true;
    if (step.piece.size() > options.max_body - body.size()) return refuse(peer, 413), true;
    if (step.consumed == 0) break;
    body += step.piece;
    at += step.consumed;
  }
  peer.in.erase(0, at);
  if (!peer.body.done()) return true;
  peer.drains = !peer.in.empty();  // one request per connection: whatever follows is not for us
  peer.in = {};
  peer.phase = Peer::Phase::Working;
  {
    const std::lock_guard lock(mutex);
    waiting.push_back(&peer);
  }
  work_there.notify_one();
  return false;
}

void Server::State::refuse(Peer& peer, int status) {
  peer.drains = true;
  peer.in = {};
  Answer answer(status, {}, "");
  if (status == 405) answer.headers.set("Allow", "GET, HEAD");
  begin_writing(peer, whole(std::move(answer), true));
}

void Server::State::begin_writing(Peer& peer, std::string text) {
  peer.out = std::move(text);
  peer.sent = 0;
  peer.wants = Io::WantWrite;
  peer.phase = Peer::Phase::Writing;
  peer.deadline = now() + options.deadline;
}

void Server::State::collect_answers() {
  eventfd_t count = 0;
  ::eventfd_read(answered.get(), &count);
  std::deque<Peer*> ready;
  {
    const std::lock_guard lock(mutex);
    ready.swap(done);
  }
  for (Peer* peer : ready) {
    if (peer->answer.status == 0) {  // asked for by the handler: no answer at all
    } else if (peer->answer.stream && peer->head.request.method != "HEAD") {
      start_stream(*peer);
    } else {
      finish(*peer);
    }
    if (peer->phase == Peer::Phase::Writing && advance(*peer)) continue;
    std::erase_if(peers, [&](const Peer& other) { return &other == peer; });
  }
}

void Server::State::finish(Peer& peer) {
  const bool head_only = peer.head.request.method == "HEAD";
  begin_writing(peer, whole(std::move(peer.answer), head_only));
}

// Afterwards the peer is Writing (a refusal), or its connection has moved to a thread.
void Server::State::start_stream(Peer& peer) {
  std::erase_if(streams, [](const StreamThread& stream) { return stream.done.load(); });
  if (streams.size() >= options.max_streams)
    return begin_writing(peer, whole(Answer(503, {}, ""), false));
  const bool chunked = !peer.head.http10;
  std::string head = head_of(peer.answer, "Transfer-Encoding", chunked ? "chunked" : "");
  if (!peer.answer.stream) return begin_writing(peer, std::move(head));  // its headers were refused
  auto& stream = streams.emplace_back();
  try {
    stream.thread = std::jthread([this, &stream, chunked, head = std::move(head),
                                  connection = std::move(peer.connection),
                                  answer = std::move(peer.answer)]() mutable {
      run_stream(std::move(connection), head, chunked, answer);
      answer = {};  // what the handler captured ends here, not when somebody looks
      stream.done = true;
    });
  } catch (const std::system_error&) {  // no more threads: the client sees a closed connection
    streams.pop_back();
  }
}

// ---------------------------------------------------------------- the outside

Server::Server(ServerOptions options, Handler handler)
    : state_(std::make_unique<State>(std::move(options), std::move(handler))) {}

Server::~Server() { stop(); }

Result<void> Server::start() {
  auto& state = *state_;
  if (state.looper.joinable() || state.stopping.stop_requested())
    return invalid("a server starts only once");
  if (!state.options.certificate_file.empty() || !state.options.key_file.empty()) {
    auto tls = server_context(state.options.certificate_file, state.options.key_file);
    if (!tls) return tls.error();
    state.tls = std::move(*tls);
  }
  auto listener = Listener::open(state.options);
  if (!listener) return listener.error();
  state.listener = std::move(*listener);
  state.answered.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!state.answered || state.wake.fd() < 0) return invalid("no file descriptors left");
  for (size_t i = 0; i < std::max<size_t>(state.options.threads, 1); ++i)
    state.workers.emplace_back([&state] { state.work(); });
  state.looper = std::jthread([&state] { state.loop(); });
  return {};
}

int Server::port() const { return state_->listener.port(); }

void Server::stop() {
  auto& state = *state_;
  state.stopping.request_stop();
  if (state.looper.joinable()) state.looper.join();
  for (auto& worker : state.workers)
    if (worker.joinable()) worker.join();
  state.streams.clear();
  state.peers.clear();
  state.listener.close();
}

}  // namespace nobs::net
