#include "shared/kube/credentials.h"

#include <algorithm>

#include "shared/base/file.h"
#include "shared/base/strings.h"

namespace nobs::kube {
namespace {

constexpr std::chrono::seconds kFileCheck{10};    // kubelet replaces a token at 80 % of its life
constexpr std::chrono::seconds kPluginLimit{30};  // aws eks get-token needs 1 to 3 s
constexpr size_t kMaxToken = 64U << 10;

Result<std::string> checked_token(std::string_view text, const std::string& where) {
  const std::string token(trim(text));
  const auto is_printable = [](char c) { return c > 0x20 && c < 0x7F; };
  if (token.empty()) return invalid(where + " is empty");
  if (!std::all_of(token.begin(), token.end(), is_printable)) {
    return invalid(where + " has a space or a control character inside");
  }
  return token;
}

Error stopped() { return {ErrorCode::Stopped, "asked to stop", 0, {}}; }

}  // namespace

Credentials::Credentials(const Config& config, Clock& clock)
    : fixed_token_(config.token),
      token_file_(config.token_file),
      exec_(config.exec),
      clock_(clock) {}

bool Credentials::is_fresh() const {
  if (!current_) return false;
  if (!token_file_.empty()) return clock_.steady() - checked_ < kFileCheck;
  return !expires_ || clock_.now() < *expires_;
}

Result<ExecCredential> Credentials::fetch(const std::stop_token& stop) const {
  ExecCredential credential;
  std::string where;
  if (!token_file_.empty()) {
    auto text = read_file(token_file_, kMaxToken);
    if (!text) return text.error();
    credential.token = *std::move(text);
    where = "token file " + token_file_;
  } else if (!fixed_token_.empty() || exec_.command.empty()) {
    credential.token = fixed_token_;
    where = "the token";
    if (credential.token.empty()) return credential;
  } else {
    auto printed = run_exec_plugin(exec_, kPluginLimit, stop);
    if (!printed) return printed.error();
    credential = *std::move(printed);
    where = "the token of credential plugin " + exec_.command;
    if (credential.token.empty()) return credential;
  }
  auto token = checked_token(credential.token, where);
  if (!token) return token.error();
  credential.token = *std::move(token);
  return credential;
}

Result<Identity> Credentials::load(std::unique_lock<std::mutex>& lock,
                                   const std::stop_token& stop) {
  loading_ = true;
  lock.unlock();
  auto fetched = fetch(stop);
  lock.lock();
  loading_ = false;
  changed_.notify_all();
  checked_ = clock_.steady();
  if (!fetched) {
    // A token file is absent for a moment while it is replaced; the old token is good for minutes more.
    if (current_ && !token_file_.empty()) return *current_;
    return fetched.error();
  }
  current_ = Identity{fetched->token, fetched->certificate_pem, fetched->key_pem};
  expires_ = fetched->expires;
  return *current_;
}

Result<Identity> Credentials::get(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait(lock, stop, [this] { return !loading_; })) return stopped();
  if (is_fresh()) return *current_;
  return load(lock, stop);
}

Result<Identity> Credentials::renew(const Identity& refused, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait(lock, stop, [this] { return !loading_; })) return stopped();
  if (current_ && *current_ != refused) return *current_;
  return load(lock, stop);
}

}  // namespace nobs::kube
