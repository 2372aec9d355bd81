// Lists: pages with continue tokens, as tables or as they are.

#include "shared/base/strings.h"
#include "tests/sim/api/built_in.h"
#include "tests/sim/api/core.h"
#include "tests/sim/api/table.h"

namespace nobs::sim {
namespace {

using json::Value;

// base64url without padding of what the real server puts there.
std::string make_token(std::int64_t version, const std::string& key) {
  std::string text = base64_encode(
      json::dump(json::object({{"v", "meta.k8s.io/v1"}, {"rv", version}, {"start", "/" + key}})));
  for (auto& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
  while (!text.empty() && text.back() == '=') text.pop_back();
  return text;
}

struct From {
  std::string key;
  std::int64_t version = 0;  // -1: whatever is now
};

std::optional<From> read_token(std::string token) {
  for (auto& c : token) c = c == '-' ? '+' : c == '_' ? '/' : c;
  token.append((4 - token.size() % 4) % 4, '=');
  const auto text = base64_decode(token);
  const auto value = text ? json::parse(*text) : Result<Value>(invalid(""));
  if (!value) return std::nullopt;
  const auto start = (*value)["start"].string_or("");
  const auto version = (*value)["rv"].if_int();
  if (start.empty() || !version) return std::nullopt;
  return From{start.substr(1), *version};
}

Reply expired_token(const std::string& key) {
  auto reply = failure(
      410, "Expired",
      "The provided continue parameter is too old to display a consistent list result. You can "
      "start a new list without the continue parameter, or use the continue token in this response "
      "to retrieve the remainder of the results. Continuing with the provided token results in an "
      "inconsistent list - objects that were created, modified, or deleted between the time the "
      "first chunk was returned and now may show up in the list.");
  reply.body["metadata"]["continue"] = make_token(-1, key);
  return reply;
}

// Items of built-in lists do without kind and apiVersion.
std::string item_text(const Resource& resource, const Stored& object) {
  if (resource.custom) return object.text;
  const std::string head = "{" + json::dump("apiVersion") + ":" +
                           json::dump(resource.api_version()) + "," + json::dump("kind") + ":" +
                           json::dump(resource.kind) + ",";
  if (object.text.rfind(head, 0) == 0) return "{" + object.text.substr(head.size());
  auto value = json::parse(object.text);
  if (!value) return object.text;
  value->erase("apiVersion");
  value->erase("kind");
  return json::dump(*value);
}

std::string list_text(const Resource& resource, const Page& page, const Value& metadata) {
  std::string items;
  for (const auto& item : page.items) {
    if (!items.empty()) items += ',';
    items += item_text(resource, *item);
  }
  const std::string version = "\"apiVersion\":" + json::dump(resource.api_version());
  const std::string kind = "\"kind\":" + json::dump(resource.list_kind());
  const std::string about = "\"metadata\":" + json::dump(metadata);
  return resource.custom
             ? "{" + version + ",\"items\":[" + items + "]," + kind + "," + about + "}\n"
             : "{" + kind + "," + version + "," + about + ",\"items\":[" + items + "]}\n";
}

struct Wanted {
  Selector selector;
  std::string from;
  std::uint64_t version = 0;  // 0: now
  size_t limit = 0;
};

std::variant<Wanted, Reply> parse_options(const Core& core, const Route& route) {
  Wanted wanted;
  auto selector = parse_selector(*route.resource, route.parameter("labelSelector"),
                                 route.parameter("fieldSelector"));
  if (auto* refusal = std::get_if<Reply>(&selector)) return std::move(*refusal);
  wanted.selector = std::get<Selector>(std::move(selector));
  wanted.limit = parse_u64(route.parameter("limit")).value_or(0);

  const auto version = route.parameter("resourceVersion");
  const auto match = route.parameter("resourceVersionMatch");
  const auto token = route.parameter("continue");
  if (!match.empty() && version.empty())
    return forbidden_list_option("resourceVersionMatch",
                                 "resourceVersionMatch is forbidden unless resourceVersion is "
                                 "provided");
  if (!token.empty()) {
    if (!version.empty() && version != "0")
      return bad_request("specifying resource version is not allowed when using continue");
    const auto from = read_token(token);
    if (!from)
      return bad_request("invalid continue token: continue key is not valid: invalid character");
    wanted.from = from->key;
    wanted.version = from->version < 0 ? 0 : static_cast<std::uint64_t>(from->version);
    return wanted;
  }
  if (version.empty()) return wanted;
  const auto number = parse_u64(version);
  if (!number)
    return bad_request(
        "invalid resource version: resourceVersion: Invalid value: " + quoted(version) +
        ": strconv.ParseUint: parsing " + quoted(version) + ": invalid syntax");
  const auto current = core.store.version();
  if (*number > current) {
    const std::string numbers = std::to_string(*number) + ", current: " + std::to_string(current);
    return failure(
        504, "Timeout", "Timeout: Too large resource version: " + numbers,
        json::object(
            {{"causes", json::array({json::object({{"reason", "ResourceVersionTooLarge"},
                                                   {"message", "Too large resource version"}})})},
             {"retryAfterSeconds", 1}}));
  }
  if (*number == 0) wanted.limit = 0;  // the real server answers from its cache, whole
  if (match == "Exact") wanted.version = *number;
  return wanted;
}

}  // namespace

StoredPtr shown(const Resource& resource, const StoredPtr& object) {
  if (resource.view_of.empty() || !object) return object;
  return stored(resource, core_event(value_of(object)), object->version);
}

net::Answer list(Core& core, const Route& route, bool as_table) {
  const Resource& resource = *route.resource;
  auto options = parse_options(core, route);
  if (auto* refusal = std::get_if<Reply>(&options)) return json_answer(*refusal);
  const Wanted& wanted = std::get<Wanted>(options);
  const std::string prefix = route.record.ns.empty() ? "" : route.record.ns + "/";
  auto page = core.store.list(
      resource, prefix, wanted.from, wanted.limit, wanted.version, [&](const Stored& object) {
        if (wanted.selector.empty()) return true;
        if (resource.view_of.empty()) return wanted.selector.matches(object.labels, object.fields);
        const auto view = shown(resource, std::make_shared<const Stored>(object));
        return wanted.selector.matches(view->labels, view->fields);
      });
  if (page.expired && !wanted.from.empty()) return json_answer(expired_token(wanted.from));
  if (page.expired)
    return json_answer(
        failure(410, "Expired", "The resourceVersion for the provided list is too old."));
  for (auto& item : page.items) item = shown(resource, item);

  auto metadata = json::object({{"resourceVersion", std::to_string(page.version)}});
  if (resource.custom && !as_table) metadata["continue"] = "";
  if (!page.next.empty()) {
    metadata["continue"] = make_token(static_cast<std::int64_t>(page.version), page.next);
    if (wanted.selector.empty())
      metadata["remainingItemCount"] = static_cast<std::int64_t>(page.remaining);
  }
  if (!as_table) {
    net::Answer answer(200, {}, list_text(resource, page, metadata));
    answer.headers.set("Content-Type", "application/json");
    return answer;
  }
  auto table = empty_table(resource, true);
  table["metadata"] = std::move(metadata);
  const bool with_object = route.parameter("includeObject") != "None";
  const auto now = SystemClock{}.now();
  for (const auto& item : page.items)
    table["rows"].push_back(table_row(resource, value_of(item), with_object, now));
  return json_answer({200, std::move(table), {}});
}

}  // namespace nobs::sim
