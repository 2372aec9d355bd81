#include "shared/kube/client.h"

#include <mutex>
#include <utility>

#include "shared/base/strings.h"
#include "shared/kube/credentials.h"
#include "shared/kube/paths.h"

namespace nobs::kube {
namespace {

using json::Value;

constexpr std::chrono::seconds kCallLimit{30};
constexpr std::chrono::seconds kPageLimit{60};  // the server's own limit
constexpr size_t kMaxErrorBody = 64U << 10;
constexpr size_t kMaxListed = 20'000;  // list_all: 16 devices of 1,000 nodes would be too long
constexpr int kMaxPages = 1'000;

const char* content_type(PatchKind kind) {
  switch (kind) {
    case PatchKind::Json:
      return "application/json-patch+json";
    case PatchKind::Merge:
      return "application/merge-patch+json";
    case PatchKind::Strategic:
      return "application/strategic-merge-patch+json";
    case PatchKind::Apply:
      return "application/apply-patch+yaml";
  }
  return "";
}

Error not_an_object(int http_status, const std::string& why) {
  return {ErrorCode::Server, "the answer is no JSON object: " + why, http_status, {}};
}

// What the splitters and the parser call invalid is the server's mistake here.
Error from_server(Error error) {
  if (error.code == ErrorCode::Invalid) error = {ErrorCode::Server, error.message, 200, {}};
  return error;
}

Error stopped() { return {ErrorCode::Stopped, "the reader stopped", 0, {}}; }

Result<Value> object_of(std::string_view text, int http_status) {
  auto value = json::parse(text);
  if (!value) return not_an_object(http_status, value.error().message);
  if (!value->is_object()) return not_an_object(http_status, printable(text, 60));
  return value;
}

std::optional<WatchEventType> event_type(std::string_view name) {
  if (name == "ADDED") return WatchEventType::Added;
  if (name == "MODIFIED") return WatchEventType::Modified;
  if (name == "DELETED") return WatchEventType::Deleted;
  if (name == "BOOKMARK") return WatchEventType::Bookmark;
  return std::nullopt;
}

// A call that is being made: the request and what it is called in metrics.
struct Call {
  std::string_view verb;
  std::string_view resource;
  net::Request request;
};

}  // namespace

struct Client::State {
  State(Config config_, std::string user_agent_, Clock& clock_, OnFinished on_finished_)
      : config(std::move(config_)),
        user_agent(std::move(user_agent_)),
        clock(clock_),
        on_finished(std::move(on_finished_)),
        field_manager(user_agent.substr(0, user_agent.find('/'))),
        credentials(config, clock) {
    config.endpoint.user_agent = user_agent;
  }

  // The connections, made anew when a plugin gave another client certificate.
  std::shared_ptr<net::Client> connect_as(const Identity& identity) {
    const std::lock_guard lock(mutex);
    if (net && connected_as.certificate_pem == identity.certificate_pem &&
        connected_as.key_pem == identity.key_pem) {
      return net;
    }
    net::Endpoint endpoint = config.endpoint;
    if (!identity.certificate_pem.empty() && endpoint.tls) {
      endpoint.tls->certificate_file.clear();
      endpoint.tls->key_file.clear();
      endpoint.tls->certificate_pem = identity.certificate_pem;
      endpoint.tls->key_pem = identity.key_pem;
    }
    net = std::make_shared<net::Client>(std::move(endpoint));
    connected_as = identity;
    return net;
  }

  // Runs `exchange` with our identity, once more after a 401 if there is a newer one. Reports to metrics.
  Result<net::Response> run(
      Call& call, const std::stop_token& stop,
      const std::function<Result<net::Response>(net::Client&, const net::Request&)>& exchange) {
    const auto began = clock.steady();
    const auto finished = [&](Result<net::Response> answer) {
      const int code = answer ? answer->status : answer.error().http_status;
      if (on_finished) on_finished({call.verb, call.resource, code, clock.steady() - began});
      return answer;
    };
    auto identity = credentials.get(stop);
    if (!identity) return finished(identity.error());
    for (bool again = false;; again = true) {
      if (!identity->token.empty()) {
        call.request.headers.set("Authorization", "Bearer " + identity->token);
      }
      auto answer = exchange(*connect_as(*identity), call.request);
      if (again || !answer || answer->status != 401) return finished(std::move(answer));
      auto next = credentials.renew(*identity, stop);
      if (!next || *next == *identity) return finished(std::move(answer));
      identity = std::move(next);
    }
  }

  Call make_call(std::string_view verb, const char* method, const ResourceType& type,
                 std::string_view ns, std::string_view name, std::string_view subresource,
                 const Query& query) const {
    Call call{verb, type.plural, {}};
    call.request.method = method;
    call.request.target =
        config.path_prefix + resource_path(type, ns, name, subresource) + query_text(query);
    call.request.headers.set("Accept", "application/json");
    return call;
  }

  Result<Value> send(Call call, const std::stop_token& stop) {
    const net::Limits limits{.total = kCallLimit};
    const auto answer = run(call, stop, [&](net::Client& client, const net::Request& request) {
      return client.send(request, limits, stop);
    });
    if (!answer) return answer.error();
    if (answer->status < 200 || answer->status > 299) {
      return error_from_status(answer->status, answer->body, answer->headers.find("Retry-After"));
    }
    return object_of(answer->body, answer->status);
  }

  // Streams a success to `on_piece`, whose first error ends it; the body of anything else becomes an Error.
  Result<void> stream(Call call, const net::Limits& limits, const std::stop_token& stop,
                      const std::function<Result<void>(std::string_view)>& on_piece) {
    bool is_success = false;
    net::Response head;
    std::string error_body;
    Result<void> outcome;
    const auto on_start = [&](const net::Response& response) {
      head = response;
      is_success = head.status >= 200 && head.status <= 299;
      error_body.clear();
      return true;
    };
    const auto take = [&](std::string_view piece) {
      if (is_success) {
        outcome = on_piece(piece);
        return static_cast<bool>(outcome);
      }
      error_body += piece.substr(0, kMaxErrorBody - error_body.size());
      return error_body.size() < kMaxErrorBody;
    };
    const auto answer = run(call, stop, [&](net::Client& client, const net::Request& request) {
      auto result = client.stream(request, limits, stop, on_start, take);
      const bool we_cut_it = !result && error_body.size() >= kMaxErrorBody;
      return we_cut_it ? Result<net::Response>(head) : result;
    });
    if (!outcome) return outcome;
    if (!answer) return answer.error();
    if (!is_success) {
      return error_from_status(answer->status, error_body, answer->headers.find("Retry-After"));
    }
    return {};
  }

  Config config;
  std::string user_agent;
  Clock& clock;
  OnFinished on_finished;
  std::string field_manager;
  Credentials credentials;

  std::mutex mutex;
  std::shared_ptr<net::Client> net;
  Identity connected_as;
};

Client::Client(Config config, std::string user_agent, Clock& clock, OnFinished on_finished)
    : state_(std::make_unique<State>(std::move(config), std::move(user_agent), clock,
                                     std::move(on_finished))) {}

Client::~Client() = default;

const std::string& Client::default_namespace() const { return state_->config.default_namespace; }
const std::string& Client::user_agent() const { return state_->user_agent; }

Result<Value> Client::get(const ResourceType& type, std::string_view ns, std::string_view name,
                          const std::stop_token& stop) {
  if (auto named = check_name(type.plural, name); !named) return named.error();
  return state_->send(state_->make_call("get", "GET", type, ns, name, "", {}), stop);
}

Result<Value> Client::create(const ResourceType& type, std::string_view ns, const Value& body,
                             const std::stop_token& stop) {
  Call call = state_->make_call("create", "POST", type, ns, "", "",
                                {{"fieldManager", state_->field_manager}});
  call.request.headers.set("Content-Type", "application/json");
  call.request.body = json::dump(body);
  return state_->send(std::move(call), stop);
}

Result<Value> Client::replace(const ResourceType& type, std::string_view ns, std::string_view name,
                              const Value& body, const std::stop_token& stop) {
  if (auto named = check_name(type.plural, name); !named) return named.error();
  Call call = state_->make_call("update", "PUT", type, ns, name, "",
                                {{"fieldManager", state_->field_manager}});
  call.request.headers.set("Content-Type", "application/json");
  call.request.body = json::dump(body);
  return state_->send(std::move(call), stop);
}

Result<Value> Client::patch(const ResourceType& type, std::string_view ns, std::string_view name,
                            const Patch& patch, const std::stop_token& stop) {
  if (auto named = check_name(type.plural, name); !named) return named.error();
  const std::string& manager =
      patch.field_manager.empty() ? state_->field_manager : patch.field_manager;
  const bool force = patch.force && patch.kind == PatchKind::Apply;
  Call call = state_->make_call("patch", "PATCH", type, ns, name, patch.subresource,
                                {{"fieldManager", manager}, {"force", force ? "true" : ""}});
  call.request.headers.set("Content-Type", content_type(patch.kind));
  call.request.body = json::dump(patch.body);
  return state_->send(std::move(call), stop);
}

Result<void> Client::remove(const ResourceType& type, std::string_view ns, std::string_view name,
                            std::string_view uid, const std::stop_token& stop) {
  if (auto named = check_name(type.plural, name); !named) return named.error();
  Call call = state_->make_call("delete", "DELETE", type, ns, name, "", {});
  if (!uid.empty()) {
    call.request.headers.set("Content-Type", "application/json");
    call.request.body = json::dump(json::object({{"apiVersion", "v1"},
                                                 {"kind", "DeleteOptions"},
                                                 {"preconditions", json::object({{"uid", uid}})}}));
  }
  const auto answer = state_->send(std::move(call), stop);
  if (!answer) return answer.error();
  return {};
}

Result<json::ListEnd> Client::list(const ResourceType& type, std::string_view ns,
                                   const ListOptions& options, const std::stop_token& stop,
                                   const std::function<bool(Value)>& on_item) {
  Call call = state_->make_call("list", "GET", type, ns, "", "", list_query(options));
  call.request.headers.set("Accept-Encoding", "gzip");
  Result<void> item_outcome;
  json::ItemSplitter splitter([&](std::string_view text) {
    auto item = object_of(text, 200);
    if (!item) {
      item_outcome = item.error();
    } else if (!on_item(*std::move(item))) {
      item_outcome = stopped();
    }
    return static_cast<bool>(item_outcome);
  });
  const auto deadline = state_->clock.steady() + kPageLimit;
  const auto streamed = state_->stream(
      std::move(call), {.silence = kCallLimit}, stop, [&](std::string_view piece) -> Result<void> {
        if (state_->clock.steady() > deadline) {
          return Error{ErrorCode::Timeout, "a page took more than 60 s", 0, {}};
        }
        auto fed = splitter.feed(piece);
        return item_outcome ? fed : item_outcome;
      });
  if (!streamed) return from_server(streamed.error());
  auto end = splitter.finish();
  if (!end) return from_server(end.error());
  return end;
}

Result<json::Array> Client::list_all(const ResourceType& type, std::string_view ns,
                                     ListOptions options, const std::stop_token& stop) {
  json::Array all;
  for (int page = 0; page < kMaxPages; ++page) {
    const auto end = list(type, ns, options, stop, [&](Value item) {
      all.push_back(std::move(item));
      return all.size() <= kMaxListed;
    });
    if (all.size() > kMaxListed) break;
    if (!end) return end.error();
    if (end->continue_token.empty()) return all;
    options.continue_token = end->continue_token;
  }
  return Error{ErrorCode::Server,
               "the list of " + std::string(type.plural) + " is longer than " +
                   std::to_string(kMaxListed) + " items or " + std::to_string(kMaxPages) + " pages",
               200,
               {}};
}

Result<void> Client::watch(const ResourceType& type, std::string_view ns,
                           const WatchOptions& options, const std::stop_token& stop,
                           const std::function<bool(WatchEventType, Value)>& on_event) {
  Call call = state_->make_call("watch", "GET", type, ns, "", "", watch_query(options));
  // 80,000 objects in 10 s instead of 20; for single events compression would only add delay.
  if (options.initial_events) call.request.headers.set("Accept-Encoding", "gzip");
  Result<void> outcome;
  const auto on_line = [&](std::string_view line) -> Result<void> {
    auto event = object_of(line, 200);
    if (!event) return event.error();
    Value& object = (*event)["object"];
    const std::string name = std::as_const(*event)["type"].string_or("");
    if (name == "ERROR") {
      return error_from_status(static_cast<int>(std::as_const(object)["code"].int_or(500)),
                               json::dump(object), nullptr);
    }
    const auto kind = event_type(name);
    if (!kind || !object.is_object()) {
      return Error{ErrorCode::Server, "not a watch event: " + printable(line, 100), 200, {}};
    }
    if (!on_event(*kind, std::move(object))) return stopped();
    return {};
  };
  json::LineSplitter splitter([&](std::string_view line) {
    outcome = on_line(line);
    return static_cast<bool>(outcome);
  });
  const auto streamed = state_->stream(std::move(call), {.silence = options.silence}, stop,
                                       [&](std::string_view piece) -> Result<void> {
                                         auto fed = splitter.feed(piece);
                                         return outcome ? fed : outcome;
                                       });
  if (!streamed) return from_server(streamed.error());
  return {};
}

bool is_older_version(std::string_view candidate, std::string_view known) {
  const auto a = parse_u64(candidate);
  const auto b = parse_u64(known);
  return a && b && *a < *b;
}

}  // namespace nobs::kube
