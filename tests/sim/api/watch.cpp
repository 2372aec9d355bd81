// Watches: what is there already where asked for, then every change, with bookmarks.

#include <algorithm>

#include "shared/base/strings.h"
#include "tests/sim/api/core.h"
#include "tests/sim/api/table.h"

namespace nobs::sim {
namespace {

using json::Value;
using std::chrono::steady_clock;

// A client that went away is noticed this soon, and so is drop_watches().
constexpr auto kLook = std::chrono::milliseconds(250);

struct Watch {
  Core& core;
  const Resource& resource;
  std::string prefix;
  Selector selector;
  std::uint64_t version = 0;  // 0: begin with what there is
  bool bookmarks = false, mark_initial_end = false;
  bool as_table = false, with_object = true, silent = false;
  std::chrono::milliseconds timeout{};
  bool columns_sent = false;

  bool matches(const StoredPtr& object) const {
    return object && selector.matches(object->labels, object->fields);
  }

  std::string line(const char* type, const std::string& object) {
    std::string text = std::string("{\"type\":\"") + type + "\",\"object\":";
    if (as_table && std::string_view(type) != "ERROR") {
      auto table = empty_table(resource, !std::exchange(columns_sent, true));
      const auto value = json::parse(object);
      table["rows"].push_back(
          table_row(resource, value ? *value : Value(), with_object, SystemClock{}.now()));
      return text + json::dump(table) + "}\n";
    }
    return text + object + "}\n";
  }

  std::string bookmark(bool initial_end) {
    auto object =
        json::object({{"kind", resource.kind},
                      {"apiVersion", resource.api_version()},
                      {"metadata", json::object({{"resourceVersion", std::to_string(version)}})}});
    if (initial_end)
      object["metadata"]["annotations"] = json::object({{"k8s.io/initial-events-end", "true"}});
    return line("BOOKMARK", json::dump(object));
  }

  std::string too_old() {
    return line("ERROR", json::dump(failure(410, "Expired",
                                            "too old resource version: " + std::to_string(version) +
                                                " (" + std::to_string(core.store.version()) + ")")
                                        .body));
  }

  // An object that comes to match is ADDED, one that ceases to is DELETED with its old content.
  std::string event(const Change& change) {
    if (change.key.rfind(prefix, 0) != 0) return {};
    const auto before = shown(resource, change.before);
    const auto after = shown(resource, change.after);
    const bool matched = matches(before);
    if (matches(after)) return line(matched ? "MODIFIED" : "ADDED", after->text);
    if (!matched) return {};
    auto last = value_of(before);
    last["metadata"]["resourceVersion"] = std::to_string(change.version);
    return line("DELETED", json::dump(last));
  }

  bool send_initial(const net::Writer& writer) {
    const auto page =
        core.store.list(resource, prefix, "", 0, 0, [](const Stored&) { return true; });
    version = page.version;
    std::string text;
    for (const auto& stored_item : page.items) {
      const auto item = shown(resource, stored_item);
      if (matches(item)) text += line("ADDED", item->text);
      if (text.size() < (64U << 10)) continue;
      if (!writer(text)) return false;
      text.clear();
    }
    if (mark_initial_end) text += bookmark(true);
    return writer(text);
  }

  void run(const net::Writer& writer, const std::function<bool()>& ended) {
    const auto deadline = steady_clock::now() + timeout;
    if (silent) {
      while (!ended() && steady_clock::now() < deadline && writer("")) {
        (void)core.store.news(resource, ~std::uint64_t{0},
                              std::min(deadline, steady_clock::now() + kLook), ended);
      }
      return;
    }
    if (version == 0) {
      if (!send_initial(writer)) return;
    } else if (!core.store.remembers(resource, version)) {
      writer(too_old());
      return;
    }
    auto next_bookmark = steady_clock::now() + core.options.bookmark_interval;
    while (!ended()) {
      const auto until = std::min({deadline, next_bookmark, steady_clock::now() + kLook});
      const auto news = core.store.news(resource, version, until, ended);
      if (news.expired) {
        writer(too_old());
        return;
      }
      std::string text;
      for (const auto& change : news.changes) text += event(change);
      version = news.version;
      const auto now = steady_clock::now();
      if (bookmarks && (now >= next_bookmark || now >= deadline)) {
        text += bookmark(false);
        next_bookmark = now + core.options.bookmark_interval;
      }
      if (!writer(text) || now >= deadline) return;
    }
  }
};

}  // namespace

net::Answer watch(Core& core, const Route& route, bool as_table, bool silent) {
  auto selector = parse_selector(*route.resource, route.parameter("labelSelector"),
                                 route.parameter("fieldSelector"));
  if (auto* refusal = std::get_if<Reply>(&selector)) return json_answer(*refusal);
  const auto asked = route.parameter("resourceVersion");
  const auto version = parse_u64(asked.empty() ? "0" : asked);
  if (!version)
    return json_answer(failure(500, "",
                               "resourceVersion: Invalid value: " + quoted(asked) +
                                   ": strconv.ParseUint: parsing " + quoted(asked) +
                                   ": invalid syntax"));
  const bool initial = route.flag("sendInitialEvents");
  const bool sends_initial_option = !route.parameter("sendInitialEvents").empty();
  const auto match = route.parameter("resourceVersionMatch");
  if (sends_initial_option && !core.options.watch_list)
    return json_answer(
        forbidden_list_option("sendInitialEvents",
                              "sendInitialEvents is forbidden for watch unless the WatchList "
                              "feature gate is enabled"));
  if (sends_initial_option && match != "NotOlderThan")
    return json_answer(forbidden_list_option(
        "resourceVersionMatch",
        "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
  if (!sends_initial_option && !match.empty())
    return json_answer(forbidden_list_option(
        "resourceVersionMatch",
        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"));

  const bool bookmarks = route.flag("allowWatchBookmarks");
  const auto seconds = parse_u64(route.parameter("timeoutSeconds")).value_or(0);
  auto watching = std::make_shared<Watch>(Watch{
      .core = core,
      .resource = *route.resource,
      .prefix = route.record.ns.empty() ? "" : route.record.ns + "/",
      .selector = std::get<Selector>(std::move(selector)),
      .version = initial ? 0 : *version,
      .bookmarks = bookmarks,
      // A server that knows WatchList makes one of every watch that begins with what there is.
      .mark_initial_end = bookmarks && (initial || (*version == 0 && core.options.watch_list)),
      .as_table = as_table,
      .with_object = route.parameter("includeObject") != "None",
      .silent = silent,
      .timeout =
          std::chrono::seconds(seconds == 0 ? 1'800 : std::min<std::uint64_t>(seconds, 86'400)),
  });
  const auto epoch = core.watch_epoch.load();
  const auto ended = [&core, epoch] { return core.watch_epoch.load() != epoch; };
  net::Answer answer(200, {}, "");
  answer.headers.set("Content-Type", "application/json");
  answer.headers.set("Cache-Control", "no-cache, private");
  answer.stream = [watching, ended](const net::Writer& writer) { watching->run(writer, ended); };
  answer.cut = [&core, ended] { return ended() && core.cut_watches.load(); };
  return answer;
}

}  // namespace nobs::sim
