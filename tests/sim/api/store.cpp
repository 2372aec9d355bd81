#include "tests/sim/api/store.h"

#include <algorithm>

namespace nobs::sim {

StoredPtr stored(const Resource& resource, const json::Value& object, std::uint64_t version) {
  return std::make_shared<const Stored>(
      Stored{json::dump(object), version, labels_of(object), selectable_fields(resource, object)});
}

json::Value value_of(const StoredPtr& object) {
  if (!object) return nullptr;
  auto parsed = json::parse(object->text);
  return parsed ? std::move(*parsed) : json::Value();
}

const Store::Collection& Store::collection(const Resource& resource) const {
  static const Collection kEmpty;
  const auto found = collections_.find(resource.storage());
  return found == collections_.end() ? kEmpty : found->second;
}

StoredPtr Store::find(const Resource& resource, const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto& objects = collection(resource).objects;
  const auto found = objects.find(key);
  return found == objects.end() ? nullptr : found->second;
}

Page Store::list(const Resource& resource, const std::string& prefix, const std::string& from,
                 size_t limit, std::uint64_t version, const Matches& matches) const {
  const std::lock_guard lock(mutex_);
  const auto& here = collection(resource);
  Page page;
  page.version = version == 0 ? version_ : version;
  if (page.version < std::max(here.forgotten, forgotten_)) {
    page.expired = true;
    return page;
  }
  // What was different then: going back in time, the oldest `before` wins.
  std::map<std::string, StoredPtr> then;
  for (auto change = here.history.rbegin();
       change != here.history.rend() && change->version > page.version; ++change)
    then[change->key] = change->before;

  auto now = here.objects.lower_bound(std::max(from, prefix));
  auto past = then.lower_bound(std::max(from, prefix));
  const auto has_prefix = [&](const std::string& key) { return key.rfind(prefix, 0) == 0; };
  for (;;) {
    const bool some_now = now != here.objects.end() && has_prefix(now->first);
    const bool some_past = past != then.end() && has_prefix(past->first);
    if (!some_now && !some_past) return page;
    const bool take_past = some_past && (!some_now || past->first <= now->first);
    const std::string& key = take_past ? past->first : now->first;
    const StoredPtr& object = take_past ? past->second : now->second;
    if (object && limit > 0 && page.items.size() == limit) {
      page.next = key;
      break;
    }
    if (object && matches(*object)) page.items.push_back(object);
    if (take_past && some_now && past->first == now->first) ++now;
    take_past ? static_cast<void>(++past) : static_cast<void>(++now);
  }
  for (; now != here.objects.end() && has_prefix(now->first); ++now)
    if (then.count(now->first) == 0) ++page.remaining;
  for (; past != then.end() && has_prefix(past->first); ++past)
    if (past->second) ++page.remaining;
  return page;
}

Reply Store::write(const Resource& resource, const std::string& key,
                   const std::function<Decision(const json::Value& old)>& decide) {
  const std::lock_guard lock(mutex_);
  auto& here = collections_[resource.storage()];
  const auto found = here.objects.find(key);
  const StoredPtr before = found == here.objects.end() ? nullptr : found->second;
  auto decision = decide(value_of(before));
  if (decision.what == Decision::What::Nothing) return std::move(decision.reply);
  Change change{++version_, key, before, nullptr};
  if (decision.what == Decision::What::Put) {
    decision.reply.body["metadata"]["resourceVersion"] = std::to_string(version_);
    change.after = stored(resource, decision.reply.body, version_);
    here.objects[key] = change.after;
  } else {
    here.objects.erase(key);
  }
  here.history.push_back(std::move(change));
  while (here.history.size() > history_) {
    here.forgotten = here.history.front().version;
    here.history.pop_front();
  }
  changed_.notify_all();
  return std::move(decision.reply);
}

News Store::news(const Resource& resource, std::uint64_t version,
                 std::chrono::steady_clock::time_point deadline,
                 const std::function<bool()>& interrupted) const {
  std::unique_lock lock(mutex_);
  News news;
  for (;;) {
    const auto& here = collection(resource);
    if (version <
        here.forgotten) {  // forget_history() does not end watches, as a compaction does not
      news.expired = true;
      news.version = version_;
      return news;
    }
    const auto first =
        std::upper_bound(here.history.begin(), here.history.end(), version,
                         [](std::uint64_t v, const Change& entry) { return v < entry.version; });
    news.changes.assign(first, here.history.end());
    // A version from the future stays: that watch hears nothing until the counter gets there.
    news.version = std::max(version, version_);
    if (!news.changes.empty() || interrupted() ||
        changed_.wait_until(lock, deadline) == std::cv_status::timeout)
      return news;
  }
}

std::uint64_t Store::version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

bool Store::remembers(const Resource& resource, std::uint64_t version) const {
  const std::lock_guard lock(mutex_);
  return version >= std::max(collection(resource).forgotten, forgotten_);
}

void Store::forget_history() {
  const std::lock_guard lock(mutex_);
  forgotten_ =
      ++version_;  // the counter moves, so that the newest version handed out is too old as well
}

}  // namespace nobs::sim
