// From a request to its answer: which resource, who asks, which fault, which verb.

#include <algorithm>
#include <thread>

#include "shared/base/strings.h"
#include "tests/sim/api/core.h"
#include "tests/sim/api/discovery.h"
#include "tests/sim/api/table.h"
#include "tests/sim/api/writes.h"

namespace nobs::sim {
namespace {

using json::Value;

constexpr std::string_view kAnonymous = "system:anonymous";

std::string percent_decode(std::string_view text, bool plus_is_space) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'                 ? c - '0'
           : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                : -1;
  };
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool code =
        text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0;
    if (code) {
      result += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      result += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return result;
}

std::string header(const net::Request& request, std::string_view name) {
  const auto* value = request.headers.find(name);
  return value ? *value : std::string();
}

const Resource* find_resource(const Core& core, std::string_view group, std::string_view version,
                              std::string_view plural) {
  for (const auto& row : core.resources) {
    if (row.group == group && row.version == version && row.plural == plural) return &row;
  }
  return nullptr;
}

std::string verb_of(const std::string& method, bool has_name, bool is_watch) {
  if (method == "GET") return is_watch ? "watch" : has_name ? "get" : "list";
  if (method == "POST") return "create";
  if (method == "PUT") return "update";
  if (method == "PATCH") return "patch";
  if (method == "DELETE") return has_name ? "delete" : "deletecollection";
  return lower(method);
}

// ---- who

Reply forbidden(const Route& route, const std::string& user) {
  const std::string who = "User " + quoted(user) + " cannot " + route.record.verb;
  if (!route.resource)
    return failure(403, "Forbidden", "forbidden: " + who + " path " + quoted(route.path),
                   json::Object{});
  const Resource& resource = *route.resource;
  const std::string named = route.record.name.empty() ? "" : " " + quoted(route.record.name);
  const std::string place = route.record.ns.empty() ? "at the cluster scope"
                                                    : "in the namespace " + quoted(route.record.ns);
  auto details = json::object({{"kind", resource.plural}});
  if (!resource.group.empty()) details["group"] = resource.group;
  if (!route.record.name.empty()) details["name"] = route.record.name;
  return failure(403, "Forbidden",
                 resource.qualified() + named + " is forbidden: " + who + " resource " +
                     quoted(route.record.resource) + " in API group " + quoted(resource.group) +
                     " " + place,
                 std::move(details));
}

bool open_to_everybody(const std::string& path) {
  return path == "/healthz" || path == "/livez" || path == "/readyz" || path == "/version";
}

bool open_to_users(const std::string& path) {
  return path == "/api" || path == "/api/v1" || path.rfind("/apis", 0) == 0 ||
         path.rfind("/openapi", 0) == 0;
}

// ---- verbs

WriteRequest write_request(const Route& route, const net::Request& request) {
  std::string manager = route.parameter("fieldManager");
  const bool is_apply = route.record.content_type == "application/apply-patch+yaml";
  if (manager.empty() && !is_apply) {
    manager = route.record.user_agent.substr(0, route.record.user_agent.find('/'));
    if (manager.empty()) manager = "unknown";
  }
  auto validation = route.parameter("fieldValidation");
  return {.resource = *route.resource,
          .ns = route.record.ns,
          .name = route.record.name,
          .subresource = route.subresource,
          .content_type = route.record.verb == "patch" ? route.record.content_type : "",
          .body = request.body,
          .manager = std::move(manager),
          .field_validation = validation.empty() ? "Warn" : std::move(validation),
          .dry_run = !route.parameter("dryRun").empty()};
}

net::Answer get(Core& core, const Route& route, bool as_table) {
  const Resource& resource = *route.resource;
  const auto& record = route.record;
  const std::string key = record.ns.empty() ? record.name : record.ns + "/" + record.name;
  const auto object = shown(resource, core.store.find(resource, key));
  if (!object) return json_answer(not_found(resource, record.name));
  if (!as_table) {
    net::Answer answer(200, {}, object->text + "\n");
    answer.headers.set("Content-Type", "application/json");
    return answer;
  }
  auto table = empty_table(resource, true);
  table["metadata"]["resourceVersion"] = std::to_string(object->version);
  table["rows"].push_back(table_row(
      resource, value_of(object), route.parameter("includeObject") != "None", SystemClock{}.now()));
  return json_answer({200, std::move(table), {}});
}

Reply delete_collection(Core& core, const Route& route, const net::Request& request) {
  auto selector = parse_selector(*route.resource, route.parameter("labelSelector"),
                                 route.parameter("fieldSelector"));
  if (auto* refusal = std::get_if<Reply>(&selector)) return std::move(*refusal);
  const auto& wanted = std::get<Selector>(selector);
  const std::string prefix = route.record.ns.empty() ? "" : route.record.ns + "/";
  const auto page = core.store.list(*route.resource, prefix, "", 0, 0, [&](const Stored& object) {
    return wanted.matches(object.labels, object.fields);
  });
  auto deleted =
      json::object({{"kind", route.resource->list_kind()},
                    {"apiVersion", route.resource->api_version()},
                    {"metadata", json::object({{"resourceVersion", std::to_string(page.version)}})},
                    {"items", json::Array{}}});
  for (const auto& item : page.items) {
    auto object = value_of(item);
    auto one = write_request(route, request);
    one.name = std::as_const(object)["metadata"]["name"].string_or("");
    one.ns = std::as_const(object)["metadata"]["namespace"].string_or("");
    remove(core.store, one);
    deleted["items"].push_back(std::move(object));
  }
  return {200, std::move(deleted), {}};
}

Reply evict(Core& core, const Route& route, const net::Request& request) {
  auto one = write_request(route, request);
  one.body.clear();
  auto reply = remove(core.store, one);
  if (reply.code != 200) return reply;
  return {201,
          json::object({{"kind", "Status"},
                        {"apiVersion", "v1"},
                        {"metadata", json::Object{}},
                        {"status", "Success"},
                        {"code", 201}}),
          {}};
}

Refusal missing_namespace(const Core& core, const Route& route) {
  if (!route.resource->namespaced) return std::nullopt;
  const auto* namespaces = find_resource(core, "", "v1", "namespaces");
  if (namespaces && core.store.find(*namespaces, route.record.ns)) return std::nullopt;
  return not_found(*namespaces, route.record.ns);
}

Reply write(Core& core, const Route& route, const net::Request& request) {
  const auto& verb = route.record.verb;
  const bool named = !route.record.name.empty();
  if (!route.resource->view_of.empty() ||
      (verb == "create" && named && route.subresource.empty()) ||
      (verb != "create" && route.subresource == "eviction"))
    return failure(405, "MethodNotAllowed",
                   "the server does not allow this method on the requested resource",
                   json::Object{});
  if (verb == "deletecollection") return delete_collection(core, route, request);
  if (verb == "create" && named) return evict(core, route, request);
  if (verb == "create") {
    if (auto refusal = missing_namespace(core, route); refusal) return std::move(*refusal);
    return create(core.store, write_request(route, request));
  }
  if (!named) return bad_request("name must be provided");
  if (verb == "update") return update(core.store, write_request(route, request));
  if (verb == "patch") return patch(core.store, write_request(route, request));
  return remove(core.store, write_request(route, request));
}

// ---- the control endpoint, for tests in another process

net::Answer control(Core& core, const Route& route, const net::Request& request) {
  const auto& method = request.method;
  if (route.path == "/_sim/requests" && method == "GET") {
    json::Array records;
    for (const auto& record : core.log.all()) records.push_back(to_json(record));
    return json_answer({200, std::move(records), {}});
  }
  if (route.path == "/_sim/requests" && method == "DELETE") {
    core.log.clear();
  } else if (route.path == "/_sim/faults" && method == "DELETE") {
    core.faults.clear();
  } else if (route.path == "/_sim/faults" && method == "POST") {
    const auto body = json::parse(request.body);
    auto fault = body ? parse_fault(*body) : Result<Fault>(body.error());
    if (!fault) return json_answer(bad_request(fault.error().message));
    core.faults.inject(std::move(*fault));
  } else if (route.path == "/_sim/forget-history" && method == "POST") {
    core.store.forget_history();
  } else if (route.path == "/_sim/drop-watches" && method == "POST") {
    core.cut_watches = route.flag("cut");
    ++core.watch_epoch;
    core.store.wake();
  } else {
    return text_answer(404, "404 page not found\n");
  }
  return json_answer({200, json::Object{}, {}});
}

// ---- the whole

net::Answer respond(Core& core, const Route& route, const net::Request& request,
                    const std::optional<User>& user, bool silent) {
  const auto& verb = route.record.verb;
  if (!user && !header(request, "Authorization").empty())
    return json_answer(failure(401, "Unauthorized", "Unauthorized"));
  const bool allowed = (user && user->may_do_everything) || open_to_everybody(route.path) ||
                       (user && !route.resource && open_to_users(route.path));
  if (!allowed) return json_answer(forbidden(route, user ? user->name : std::string(kAnonymous)));
  if (route.path == "/healthz" || route.path == "/livez" || route.path == "/readyz")
    return text_answer(200, "ok");
  if (route.path.rfind("/_sim/", 0) == 0) return control(core, route, request);
  if (!route.resource) {
    if (request.method == "POST") {
      if (auto reply = review(core, route.path, request.body, *user); reply)
        return json_answer(*reply);
    }
    auto document = discover(core.resources, route.path, header(request, "Host"));
    return document ? json_answer({200, std::move(*document), {}})
                    : text_answer(404, "404 page not found\n");
  }
  const std::string accept = header(request, "Accept");
  if (!accept.empty() && accept.find("json") == std::string::npos &&
      accept.find("*/*") == std::string::npos)
    return json_answer(failure(406, "NotAcceptable",
                               "only the following media types are accepted: application/json, "
                               "application/yaml, application/vnd.kubernetes.protobuf"));
  const bool as_table = accept.find("as=Table") != std::string::npos;
  if (verb == "get") return get(core, route, as_table);
  if (verb == "list") return list(core, route, as_table);
  if (verb == "watch") return watch(core, route, as_table, silent);
  return json_answer(write(core, route, request));
}

// Half of it, then the end of the connection.
net::Answer broken_off(net::Answer answer) {
  if (answer.stream) {
    auto stream = std::move(answer.stream);
    answer.stream = [stream](const net::Writer& writer) {
      bool first = true;
      stream([&](std::string_view piece) {
        if (!first || piece.empty()) return first;
        first = false;
        return writer(piece.substr(0, (piece.size() + 1) / 2));
      });
    };
  } else {
    const std::string half = answer.body.substr(0, answer.body.size() / 2);
    answer.stream = [half](const net::Writer& writer) { writer(half); };
  }
  answer.cut = [] { return true; };
  return answer;
}

net::Answer answer_with(const Fault& fault, const std::function<net::Answer()>& real) {
  if (fault.latency.count() > 0) std::this_thread::sleep_for(fault.latency);
  const bool only_late = fault.status == 0 && fault.answer == Broken::No;
  net::Answer answer;
  const bool needed = only_late || fault.takes_effect || fault.answer == Broken::Silent ||
                      (fault.answer == Broken::Half && fault.status == 0);
  if (needed) answer = real();
  if (fault.status != 0) {
    answer = json_answer(fault_status(fault));
    if (fault.retry_after > 0) answer.headers.set("Retry-After", std::to_string(fault.retry_after));
  }
  if (fault.answer == Broken::Closed) return {};  // status 0: no answer
  return fault.answer == Broken::Half ? broken_off(std::move(answer)) : answer;
}

}  // namespace

net::Answer text_answer(int status, std::string text) {
  net::Answer answer(status, {}, std::move(text));
  answer.headers.set("Content-Type", "text/plain; charset=utf-8");
  return answer;
}

net::Answer json_answer(const Reply& reply) {
  net::Answer answer(reply.code, {}, json::dump(reply.body) + "\n");
  answer.headers.set("Content-Type", "application/json");
  answer.headers.set("Cache-Control", "no-cache, private");
  for (const auto& warning : reply.warnings)
    answer.headers.list.emplace_back("Warning", "299 - " + quoted(warning));
  const auto after = reply.body["details"]["retryAfterSeconds"].int_or(0);
  if (reply.code >= 400 && after > 0) answer.headers.set("Retry-After", std::to_string(after));
  return answer;
}

Route parse_route(const Core& core, const net::Request& request) {
  Route route;
  const size_t mark = std::min(request.target.find('?'), request.target.size());
  route.path = percent_decode(request.target.substr(0, mark), false);
  if (route.path.size() > 1 && route.path.back() == '/') route.path.pop_back();
  for (const auto pair : split(std::string_view(request.target).substr(mark), '&')) {
    const auto text = pair.substr(!pair.empty() && pair[0] == '?' ? 1 : 0);
    const size_t equals = std::min(text.find('='), text.size());
    if (!text.empty())
      route.query[percent_decode(text.substr(0, equals), true)] =
          percent_decode(text.substr(std::min(equals + 1, text.size())), true);
  }
  auto& record = route.record;
  record.target = request.target;
  record.user_agent = header(request, "User-Agent");
  record.content_type = header(request, "Content-Type");
  record.content_type =
      std::string(trim(record.content_type.substr(0, record.content_type.find(';'))));
  record.body_bytes = request.body.size();
  record.verb = lower(request.method);

  // /api/v1/… or /apis/<group>/<version>/…, then [namespaces/<ns>/]<plural>[/<name>[/<subresource>]]
  const auto pieces =
      split(std::string_view(route.path).substr(std::min<size_t>(1, route.path.size())), '/');
  const bool is_core = pieces[0] == "api";
  if (!is_core && pieces[0] != "apis") return route;
  size_t at = is_core ? 2 : 3;
  if (pieces.size() <= at) return route;
  const std::string_view group = is_core ? std::string_view() : pieces[1];
  const std::string_view version = pieces[at - 1];
  const bool in_namespace = pieces[at] == "namespaces" && pieces.size() > at + 2 &&
                            find_resource(core, group, version, pieces[at + 2]) != nullptr;
  if (in_namespace) {
    record.ns = std::string(pieces[at + 1]);
    at += 2;
  }
  const auto* resource = find_resource(core, group, version, pieces[at]);
  const auto piece = [&](size_t i) {
    return i < pieces.size() ? std::string(pieces[i]) : std::string();
  };
  const std::string subresource = piece(at + 2);
  const bool known_subresource = subresource.empty() ||
                                 (subresource == "status" && resource && resource->has_status) ||
                                 (subresource == "eviction" && resource && resource->kind == "Pod");
  if (!resource || !known_subresource || pieces.size() > at + 3 ||
      (in_namespace && !resource->namespaced))
    return route;
  route.resource = resource;
  route.subresource = subresource;
  record.name = piece(at + 1);
  record.resource = resource->plural + (subresource.empty() ? "" : "/" + subresource);
  record.verb = verb_of(request.method, !record.name.empty(), route.flag("watch"));
  return route;
}

net::Answer handle(Core& core, const net::Request& request) {
  Route route = parse_route(core, request);
  constexpr std::string_view kBearer = "Bearer ";
  const std::string authorization = header(request, "Authorization");
  std::optional<User> user;
  if (authorization.rfind(kBearer, 0) == 0)
    user = core.users.by_token(authorization.substr(kBearer.size()));
  route.record.user = user ? user->name : std::string(kAnonymous);
  if (route.path.rfind("/_sim/", 0) == 0) return respond(core, route, request, user, false);

  const auto fault = core.faults.hit(route.record);
  const auto real = [&] {
    return respond(core, route, request, user, fault && fault->answer == Broken::Silent);
  };
  auto answer = fault ? answer_with(*fault, real) : real();
  route.record.code = answer.status;
  core.log.note(std::move(route.record));
  return answer;
}

void Users::add(const std::string& token, User user) {
  const std::lock_guard lock(mutex_);
  by_token_[token] = std::move(user);
}

std::optional<User> Users::by_token(const std::string& token) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_token_.find(token);
  return found == by_token_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<User> Users::by_name(const std::string& name) const {
  return by_token(token_of(name));
}

std::string Users::token_of(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(by_token_.begin(), by_token_.end(),
                                  [&](const auto& entry) { return entry.second.name == name; });
  return found == by_token_.end() ? std::string() : found->first;
}

}  // namespace nobs::sim
