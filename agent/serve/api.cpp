#include "agent/serve/api.h"

#include <algorithm>
#include <array>

#include "agent/serve/api_json.h"
#include "agent/serve/problem.h"
#include "agent/serve/query.h"
#include "shared/base/rfc3339.h"
#include "shared/base/strings.h"

namespace nobs::serve {
namespace {

using json::Value;

constexpr std::uint64_t kMaxDevice = 255;                    // as NeuronDevice bounds it
constexpr std::uint64_t kMaxNumber = 9'007'199'254'740'991;  // exact in every JSON reader
constexpr std::uint64_t kMaxWaitSeconds = 60;

struct Call {
  const Board& board;
  const ApiOptions& options;
  const net::Request& request;
  const Query& query;
  std::string_view rest;  // behind the route: {n} of devices/{n}
};

struct Route {
  std::string_view path;  // below kApiRoot
  std::vector<std::string_view> parameters;
  net::Answer (*answer)(const Call&);
};

net::Answer json_answer(const Value& value) {
  net::Answer answer(200, {}, json::dump(value) + "\n");
  answer.headers.set("Content-Type", "application/json");
  answer.headers.set("Cache-Control", "no-cache");
  return answer;
}

net::Answer not_yet() {
  auto answer = problem(503, "the first cycle is not over yet");
  answer.headers.set("Retry-After", "1");
  return answer;
}

net::Answer no_device(std::string_view device) {
  return problem(404, "there is no device " + printable(device, 60) + " on this node; " +
                          std::string(kApiRoot) + "/devices lists those that are");
}

bool is_known(const Shown& shown, std::optional<std::uint64_t> device) {
  return !device || shown.report->memory.slots.contains(static_cast<int>(*device));
}

std::optional<int> index_of(std::optional<std::uint64_t> device) {
  return device ? std::optional(static_cast<int>(*device)) : std::nullopt;
}

// With the time, because versions begin anew with each run of the agent.
std::string etag_of(const publish::Report& report) {
  const auto at =
      std::chrono::duration_cast<std::chrono::milliseconds>(report.at.time_since_epoch());
  return '"' + std::to_string(report.version) + '-' + std::to_string(at.count()) + '"';
}

bool matches(const std::string* if_none_match, std::string_view etag) {
  if (if_none_match == nullptr) return false;
  for (const auto part : split(*if_none_match, ',')) {
    auto tag = trim(part);
    if (tag.starts_with("W/")) tag.remove_prefix(2);
    if (tag == "*" || tag == etag) return true;
  }
  return false;
}

net::Answer snapshot_stream(const Call& call, std::uint64_t since, std::chrono::seconds wait,
                            std::optional<int> device) {
  net::Answer answer(200, {}, "");
  answer.headers.set("Content-Type", "application/json");
  answer.headers.set("Cache-Control", "no-cache");
  answer.stream = [&board = call.board, node = call.options.node, since, wait,
                   device](const net::Writer& write) {
    const auto deadline = std::chrono::steady_clock::now() + wait;
    auto shown = board.wait_other(since, deadline, [&] { return write(""); });
    if (!shown) shown = board.newest();
    write(json::dump(snapshot_json(*shown, node, device)) + "\n");
  };
  return answer;
}

net::Answer snapshot(const Call& call) {
  const auto device = call.query.number("device", 0, kMaxDevice);
  if (!device) return problem(400, device.error().message);
  const auto since = call.query.number("since", 0, kMaxNumber);
  if (!since) return problem(400, since.error().message);
  const auto wait = call.query.number("wait", 0, kMaxWaitSeconds);
  if (!wait) return problem(400, wait.error().message);
  const auto shown = call.board.newest();
  if (!shown) return not_yet();
  if (!is_known(*shown, *device)) return no_device(std::to_string(**device));
  if (wait->value_or(0) > 0 && *since == shown->report->version) {
    return snapshot_stream(call, **since, std::chrono::seconds(**wait), index_of(*device));
  }
  const std::string etag = etag_of(*shown->report);
  const bool is_same = matches(call.request.headers.find("If-None-Match"), etag);
  auto answer = is_same ? net::Answer(304, {}, "")
                        : json_answer(snapshot_json(*shown, call.options.node, index_of(*device)));
  answer.headers.set("ETag", etag);
  answer.headers.set("Cache-Control", "no-cache");
  return answer;
}

net::Answer devices(const Call& call) {
  const auto shown = call.board.newest();
  if (!shown) return not_yet();
  return json_answer(json::object({{"version", shown->report->version},
                                   {"at", format_micros(shown->report->at)},
                                   {"items", devices_json(*shown, call.options.node)}}));
}

net::Answer device(const Call& call) {
  const auto index = plain_number(call.rest, 0, kMaxDevice);
  if (!index) return no_device('"' + printable(call.rest, 60) + '"');
  const auto shown = call.board.newest();
  if (!shown) return not_yet();
  const auto found = devices_json(*shown, call.options.node, index_of(index));
  if (found.items().empty()) return no_device(std::to_string(*index));
  return json_answer(found.items().front());
}

net::Answer faults(const Call& call) {
  FaultFilter filter;
  const auto device = call.query.number("device", 0, kMaxDevice);
  if (!device) return problem(400, device.error().message);
  filter.device = index_of(*device);
  if (const auto* text = call.query.text("class")) {
    filter.fault = api::parse_fault_class(*text);
    if (!filter.fault)
      return problem(400, "query: parameter \"class\" is \"" + printable(*text, 60) +
                              "\"; accepted are the fault classes, such as HBMUncorrectable");
  }
  if (const auto* text = call.query.text("severity")) {
    filter.severity = api::parse_severity(*text);
    if (!filter.severity)
      return problem(400, "query: parameter \"severity\" is \"" + printable(*text, 60) +
                              "\"; accepted are: Fatal, Warning");
  }
  const auto shown = call.board.newest();
  if (!shown) return not_yet();
  if (!is_known(*shown, *device)) return no_device(std::to_string(**device));
  return json_answer(json::object({{"version", shown->report->version},
                                   {"at", format_micros(shown->report->at)},
                                   {"items", faults_json(*shown, call.options.node, filter)}}));
}

// What belongs to one event, ready to be sent. A data line holds no line break: the JSON has none.
std::string event_text(const Event& event) {
  return "id: " + std::to_string(event.id) + "\ndata: " + json::dump(event_json(event)) + "\n\n";
}

std::string events_text(const Events& events) {
  std::string text;
  if (events.is_gap)
    text = "event: reset\nid: " +
           std::to_string(events.list.empty() ? events.newest : events.list.front().id - 1) +
           "\ndata: {\"message\":\"events were missed; read the snapshot again\"}\n\n";
  for (const auto& event : events.list) text += event_text(event);
  return text;
}

net::Answer event_stream(const Call& call, std::optional<std::uint64_t> after) {
  net::Answer answer(200, {}, "");
  answer.headers.set("Content-Type", "text/event-stream");
  answer.headers.set("Cache-Control", "no-store");
  // Without an id: what happens from now on. Taken here, so that nothing between the headers and the thread is lost.
  const std::uint64_t begin = after ? *after : call.board.events_after(0).newest;
  answer.stream = [&board = call.board, keep_alive = call.options.keep_alive,
                   begin](const net::Writer& write) {
    // At once, so that clients and proxies see that the stream is open.
    if (!write(": neuron-observer events\n\n")) return;
    auto events = board.events_after(begin);
    for (;;) {
      const std::string text = events_text(events);
      if (!text.empty() && !write(text)) return;
      const auto deadline = std::chrono::steady_clock::now() + keep_alive;
      bool is_open = true;
      const std::uint64_t seen = events.newest;
      events = board.wait_events(seen, deadline, [&] { return is_open = write(""); });
      if (!is_open || (events.newest == seen && !write(": keep-alive\n\n"))) return;
    }
  };
  return answer;
}

net::Answer events(const Call& call) {
  auto after = call.query.number("lastEventId", 0, kMaxNumber);
  if (!after) return problem(400, after.error().message);
  // The header is newer: browsers send it when they connect again to the same address.
  if (const auto* header = call.request.headers.find("Last-Event-ID")) {
    *after = plain_number(*header, 0, kMaxNumber);
    if (!*after)
      return problem(400, "header Last-Event-ID is \"" + printable(*header, 60) +
                              "\"; accepted is the id of an event");
  }
  const auto* accept = call.request.headers.find("Accept");
  if (accept != nullptr && lower(*accept).find("text/event-stream") != std::string::npos)
    return event_stream(call, *after);
  const auto events = call.board.events_after(after->value_or(0));
  json::Array list;
  for (const auto& event : events.list) list.push_back(event_json(event));
  return json_answer(json::object(
      {{"lastEventId", events.newest}, {"reset", events.is_gap}, {"items", std::move(list)}}));
}

net::Answer sources(const Call& call) {
  const auto shown = call.board.newest();
  return shown ? json_answer(sources_json(*shown)) : not_yet();
}

net::Answer version(const Call& call) {
  Value value = json::object({{"version", program_version()},
                              {"apiVersion", kApiRoot.substr(kApiRoot.rfind('/') + 1)},
                              {"node", call.options.node}});
  // Of the driver as far as it is known: this route answers before the first cycle too.
  if (const auto shown = call.board.newest()) {
    const Value sources = sources_json(*shown);
    value["driver"] = sources["driver"];
  }
  return json_answer(value);
}

net::Answer openapi(const Call&) {
  net::Answer answer(200, {}, std::string(openapi_json()));
  answer.headers.set("Content-Type", "application/json");
  answer.headers.set("Cache-Control", "no-cache");
  return answer;
}

const std::array<Route, 8>& routes() {
  static const std::array<Route, 8> table = {{
      {"/snapshot", {"device", "since", "wait"}, snapshot},
      {"/devices", {}, devices},
      {"/devices/{n}", {}, device},
      {"/faults", {"device", "class", "severity"}, faults},
      {"/events", {"lastEventId"}, events},
      {"/sources", {}, sources},
      {"/version", {}, version},
      {"/openapi.json", {}, openapi},
  }};
  return table;
}

// The bytes as they came: nothing is decoded, so nothing can be disguised.
const Route* find_route(std::string_view path, std::string_view& rest) {
  if (!path.starts_with(kApiRoot)) return nullptr;
  path.remove_prefix(kApiRoot.size());
  for (const auto& route : routes()) {
    const auto fixed = route.path.substr(0, route.path.find('{'));
    if (fixed.size() == route.path.size()) {
      if (path == fixed) return &route;
    } else if (path.starts_with(fixed) && path.find('/', fixed.size()) == std::string_view::npos) {
      rest = path.substr(fixed.size());
      return &route;
    }
  }
  return nullptr;
}

net::Answer answer(const Board& board, const ApiOptions& options, const net::Request& request) {
  if (request.method != "GET" && request.method != "HEAD") {
    auto refused = problem(405, "this API is read-only: GET and HEAD");
    refused.headers.set("Allow", "GET, HEAD");
    return refused;
  }
  const std::string_view target = request.target;
  const size_t mark = std::min(target.find('?'), target.size());
  std::string_view rest;
  const Route* route = find_route(target.substr(0, mark), rest);
  if (route == nullptr) {
    std::string detail = "there is no such path; there are:";
    for (const auto& path : api_paths()) detail += " " + path;
    return problem(404, detail);
  }
  const auto query =
      Query::parse(target.substr(std::min(mark + 1, target.size())), route->parameters);
  if (!query) return problem(400, query.error().message);
  return route->answer({board, options, request, *query, rest});
}

}  // namespace

net::Handler api(const Board& board, ApiOptions options) {
  return [&board, options = std::move(options)](const net::Request& request) {
    return answer(board, options, request);
  };
}

std::vector<std::string> api_paths() {
  std::vector<std::string> paths;
  for (const auto& route : routes()) paths.push_back(std::string(kApiRoot).append(route.path));
  return paths;
}

std::string_view program_version() { return NOBS_VERSION; }

}  // namespace nobs::serve
