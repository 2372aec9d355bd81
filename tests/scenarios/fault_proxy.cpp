#include "tests/scenarios/fault_proxy.h"

#include <stdexcept>
#include <thread>

#include "shared/base/file.h"
#include "shared/base/strings.h"
#include "tests/sim/api/certificate.h"

namespace nobs::test {
namespace {

constexpr char kExpired[] =
    R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version",)"
    R"("reason":"Expired","code":410})";

net::Answer closed() { return {0, {}, {}}; }

bool matches(const Fault& fault, const Seen& seen, bool is_watch) {
  const auto part = [](const std::string& text, const std::string& wanted) {
    return text.find(wanted) != std::string::npos;
  };
  return part(seen.user_agent, fault.user_agent) && part(seen.method, fault.method) &&
         part(seen.target, fault.path) && (!fault.watch_only || is_watch);
}

}  // namespace

FaultProxy::FaultProxy(const kube::Config& upstream, const std::string& directory)
    : prefix_(upstream.path_prefix), token_(upstream.token) {
  upstream_ = std::make_unique<net::Client>(upstream.endpoint, 32);
  const auto certificate = sim::make_certificate();
  if (!certificate) throw std::runtime_error(certificate.error().message);
  const std::string base = directory + "/proxy";
  for (const auto& [name, text] :
       {std::pair{".crt", certificate->certificate_pem}, {".key", certificate->key_pem}}) {
    if (auto written = write_file_atomically(base + name, text); !written)
      throw std::runtime_error(written.error().message);
  }
  server_ = std::make_unique<net::Server>(
      net::ServerOptions{.certificate_file = base + ".crt",
                         .key_file = base + ".key",
                         .threads = 16,
                         .max_waiting = 512,
                         .max_streams = 256,
                         .deadline = std::chrono::seconds(60),
                         .max_body = 8U << 20},
      [this](const net::Request& request) { return handle(request); });
  if (auto started = server_->start(); !started) throw std::runtime_error(started.error().message);
  kubeconfig_ = base + ".kubeconfig";
  const std::string text =
      "apiVersion: v1\nkind: Config\ncurrent-context: proxy\nclusters:\n- name: proxy\n  "
      "cluster:\n" +
      std::string("    server: https://127.0.0.1:") + std::to_string(server_->port()) +
      "\n    certificate-authority-data: " + base64_encode(certificate->ca_pem) +
      "\ncontexts:\n- name: proxy\n  context: {cluster: proxy, user: test}\nusers:\n- name: "
      "test\n" +
      "  user: {token: \"" + token_ + "\"}\n";
  if (auto written = write_file_atomically(kubeconfig_, text); !written)
    throw std::runtime_error(written.error().message);
}

FaultProxy::~FaultProxy() {
  stop_.request_stop();
  server_->stop();
}

void FaultProxy::inject(Fault fault) {
  const std::lock_guard lock(mutex_);
  faults_.push_back(std::move(fault));
}

void FaultProxy::clear() {
  const std::lock_guard lock(mutex_);
  faults_.clear();
}

void FaultProxy::cut(const std::string& user_agent) {
  {
    const std::lock_guard lock(mutex_);
    cut_ = user_agent;
  }
  drop_watches();
}

void FaultProxy::restore() {
  const std::lock_guard lock(mutex_);
  cut_.reset();
}

void FaultProxy::on_request(std::function<void(const Seen&, bool)> callback) {
  const std::lock_guard lock(callback_mutex_);
  callback_ = std::move(callback);
}

void FaultProxy::call(const Seen& seen, bool answered) {
  const std::lock_guard lock(callback_mutex_);
  if (callback_) callback_(seen, answered);
}

std::vector<Seen> FaultProxy::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

void FaultProxy::forget_seen() {
  const std::lock_guard lock(mutex_);
  seen_.clear();
}

std::optional<Fault> FaultProxy::take_fault(const Seen& seen, bool is_watch) {
  const std::lock_guard lock(mutex_);
  for (auto fault = faults_.begin(); fault != faults_.end(); ++fault) {
    if (!matches(*fault, seen, is_watch)) continue;
    Fault taken = *fault;
    if (fault->count > 0 && --fault->count == 0) faults_.erase(fault);
    return taken;
  }
  return std::nullopt;
}

net::Answer FaultProxy::handle(const net::Request& request) {
  const auto* agent = request.headers.find("User-Agent");
  const Seen seen{agent ? *agent : std::string(), request.method, request.target};
  const bool is_watch = request.target.find("watch=1") != std::string::npos ||
                        request.target.find("watch=true") != std::string::npos;
  {
    const std::lock_guard lock(mutex_);
    if (cut_ && seen.user_agent.find(*cut_) != std::string::npos) return closed();
    seen_.push_back(seen);
  }
  call(seen, false);
  const auto fault = take_fault(seen, is_watch);
  if (fault && fault->what == Fault::Refuse) return closed();
  if (fault && fault->what == Fault::Delay) std::this_thread::sleep_for(fault->delay);
  if (fault && fault->what == Fault::Status) {
    net::Answer answer{
        fault->status,
        {},
        R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"injected","code":)" +
            std::to_string(fault->status) + "}"};
    answer.headers.set("Content-Type", "application/json");
    if (fault->retry_after > 0)
      answer.headers.set("Retry-After", std::to_string(fault->retry_after));
    return answer;
  }
  if (fault && fault->what == Fault::Expire && !is_watch) return {410, {}, kExpired};
  if (fault && is_watch && (fault->what == Fault::Expire || fault->what == Fault::Silence)) {
    net::Answer answer{200, {}, {}};
    answer.headers.set("Content-Type", "application/json");
    answer.stream = [this, what = fault->what,
                     generation = watch_generation_.load()](const net::Writer& write) {
      if (what == Fault::Expire) {
        write(R"({"type":"ERROR","object":)" + std::string(kExpired) + "}\n");
        return;
      }
      while (watch_generation_ == generation && !stop_.stop_requested()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    };
    return answer;
  }
  auto answer = forward(request, is_watch);
  if (fault && fault->what == Fault::LoseAnswer) answer = closed();
  call(seen, true);
  return answer;
}

net::Answer FaultProxy::forward(const net::Request& request, bool is_watch) {
  net::Request out;
  out.method = request.method;
  out.target = prefix_ + request.target;
  out.body = request.body;
  for (const auto* name : {"Authorization", "Content-Type", "Accept", "User-Agent"}) {
    if (const auto* value = request.headers.find(name)) out.headers.set(name, *value);
  }
  if (!is_watch) {
    auto answer = upstream_->send(out, {}, stop_.get_token());
    if (!answer) return closed();
    net::Answer back{answer->status, {}, std::move(answer->body)};
    for (const auto* name : {"Content-Type", "Retry-After"}) {
      if (const auto* value = answer->headers.find(name)) back.headers.set(name, *value);
    }
    return back;
  }
  net::Answer answer{200, {}, {}};
  answer.headers.set("Content-Type", "application/json");
  const auto generation = watch_generation_.load();
  answer.stream = [this, out, generation](const net::Writer& write) {
    // Asked between pieces too, since a quiet watch has none: bookmarks come each second here, or each minute.
    std::stop_source ending;
    const std::stop_callback forward_stop(stop_.get_token(), [&] { ending.request_stop(); });
    const std::jthread watcher([&](const std::stop_token& done) {
      while (!done.stop_requested() && watch_generation_ == generation) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      ending.request_stop();
    });
    int status = 200;
    std::string refused;
    (void)upstream_->stream(
        out, {.silence = std::chrono::minutes(10)}, ending.get_token(),
        [&](const net::Response& response) {
          status = response.status;
          return true;
        },
        [&](std::string_view piece) {
          if (status == 200) return write(piece);
          refused += piece;
          return true;
        });
    if (status != 200) write(R"({"type":"ERROR","object":)" + refused + "}\n");
  };
  return answer;
}

}  // namespace nobs::test
