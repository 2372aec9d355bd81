#include "agent/serve/authorization.h"

#include <algorithm>
#include <thread>

#include "agent/serve/problem.h"
#include "shared/base/strings.h"

namespace nobs::serve {
namespace {

using json::Value;

constexpr ResourceType kTokenReviews{"authentication.k8s.io", "v1", "tokenreviews", "TokenReview",
                                     false};
constexpr ResourceType kAccessReviews{"authorization.k8s.io", "v1", "subjectaccessreviews",
                                      "SubjectAccessReview", false};
constexpr auto kKept = std::chrono::minutes(1);
constexpr auto kAskFor = std::chrono::seconds(5);
constexpr size_t kMaxToken = 8U << 10;

Value review_object(const ResourceType& type, Value spec) {
  return json::object({{"apiVersion", std::string(type.group) + "/" + std::string(type.version)},
                       {"kind", type.kind},
                       {"metadata", json::Object{}},
                       {"spec", std::move(spec)}});
}

// The token of "Bearer <token>"; empty when there is none, or more than one header.
std::string bearer_of(const net::Request& request) {
  const auto* header = request.headers.find("Authorization");
  if (header == nullptr || request.headers.count("Authorization") != 1) return {};
  constexpr std::string_view kScheme = "bearer ";
  if (header->size() > kMaxToken || lower(header->substr(0, kScheme.size())) != kScheme) return {};
  return std::string(trim(std::string_view(*header).substr(kScheme.size())));
}

net::Answer refusal(int status, const std::string& detail) {
  auto answer = problem(status, detail);
  if (status == 401) answer.headers.set("WWW-Authenticate", "Bearer realm=\"neuron-observer\"");
  if (status == 503) answer.headers.set("Retry-After", "5");
  return answer;
}

}  // namespace

Review reviews_of(kube::Client& client) {
  return [&client](const ResourceType& type, const Value& body, const std::stop_token& stop) {
    return client.create(type, "", body, stop);
  };
}

Authorization::Authorization(Review review, Clock& clock, std::stop_token stop)
    : review_(std::move(review)), clock_(clock), stop_(std::move(stop)) {}

net::Handler Authorization::guard(net::Handler handler) {
  return [this, handler = std::move(handler)](const net::Request& request) -> net::Answer {
    const std::string token = bearer_of(request);
    if (token.empty()) return refusal(401, "a header \"Authorization: Bearer TOKEN\" is needed");
    const std::string path = request.target.substr(0, request.target.find('?'));
    const auto verdict = check(token, path);
    return verdict.status == 200 ? handler(request) : refusal(verdict.status, verdict.detail);
  };
}

Authorization::Verdict Authorization::check(const std::string& token, const std::string& path) {
  const net::Digest key = net::sha256(token + '\n' + path);  // neither can hold a line break
  {
    const std::lock_guard lock(mutex_);
    const auto found = cache_.find(key);
    if (found != cache_.end() && clock_.steady() < found->second.until)
      return found->second.verdict;
    if (asking_ >= kMaxAsking) return {503, "other tokens are being checked; try again"};
    ++asking_;
  }
  auto verdict = ask(token, path);
  const std::lock_guard lock(mutex_);
  --asking_;
  if (verdict.status != 503) keep(key, verdict);
  return verdict;
}

Authorization::Verdict Authorization::ask(const std::string& token, const std::string& path) const {
  std::stop_source call;
  const std::stop_callback on_stop(stop_, [&] { call.request_stop(); });
  const std::jthread timer([&](const std::stop_token& done) {
    if (clock_.wait_for(kAskFor, done)) call.request_stop();
  });
  const auto no_answer = [](const Error& error) {
    return Verdict{503, "the API server could not check the token: " +
                            (error.is_stopped() ? "no answer in time" : error.message)};
  };
  const auto token_review =
      review_(kTokenReviews, review_object(kTokenReviews, json::object({{"token", token}})),
              call.get_token());
  if (!token_review) return no_answer(token_review.error());
  const Value& status = (*token_review)["status"];
  const Value& user = status["user"];
  if (!status["authenticated"].bool_or(false) || user["username"].string_or("").empty())
    return {401, "the API server does not know this token"};

  Value spec =
      json::object({{"user", user["username"]},
                    {"nonResourceAttributes", json::object({{"path", path}, {"verb", "get"}})}});
  for (const auto* key : {"uid", "groups", "extra"})
    if (!user[key].is_null()) spec[key] = user[key];
  const auto access_review =
      review_(kAccessReviews, review_object(kAccessReviews, std::move(spec)), call.get_token());
  if (!access_review) return no_answer(access_review.error());
  const Value& access = (*access_review)["status"];
  if (access["denied"].bool_or(false) || !access["allowed"].bool_or(false))
    return {403, user["username"].string_or("") + " may not get " + path};
  return {};
}

void Authorization::keep(const net::Digest& key, const Verdict& verdict) {
  const auto now = clock_.steady();
  std::erase_if(cache_, [&](const auto& entry) { return entry.second.until <= now; });
  if (cache_.size() >= kMaxCached) {
    cache_.erase(std::min_element(cache_.begin(), cache_.end(), [](const auto& a, const auto& b) {
      return a.second.until < b.second.until;
    }));
  }
  cache_[key] = {verdict, now + kKept};
}

bool is_loopback(std::string_view address) {
  return address == "::1" || address.starts_with("127.") || address.starts_with("::ffff:127.");
}

net::Handler only_local_hosts(net::Handler handler) {
  return [handler = std::move(handler)](const net::Request& request) -> net::Answer {
    const auto* header = request.headers.find("Host");
    std::string host = header == nullptr ? "localhost" : lower(*header);
    const size_t bracket = host.find(']');
    const size_t colon = host.find(':', bracket == std::string::npos ? 0 : bracket);
    host = host.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    // "127.bad.de" is a name, not an address.
    const bool is_v4 = host.find_first_not_of("0123456789.") == std::string::npos;
    if (host == "localhost" || host == "::1" || (is_v4 && is_loopback(host)))
      return handler(request);
    return problem(421, "the Host header names \"" + printable(host, 60) +
                            "\"; this address is for localhost only");
  };
}

}  // namespace nobs::serve
