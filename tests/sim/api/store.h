// The objects of all resources, one version counter for everything, and the last changes of each resource.
//
// Thread-safe. Objects are kept as text: 80,000 of them fit into memory, and lists and watches need no writing of JSON.
// A key is "name" or "namespace/name".
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/sim/api/selectors.h"

namespace nobs::sim {

struct Stored {
  std::string text;
  std::uint64_t version = 0;
  Texts labels, fields;  // for selectors
};
using StoredPtr = std::shared_ptr<const Stored>;
using Matches = std::function<bool(const Stored&)>;

StoredPtr stored(const Resource& resource, const json::Value& object, std::uint64_t version);
json::Value value_of(const StoredPtr& object);  // null for null

struct Change {
  std::uint64_t version = 0;
  std::string key;
  StoredPtr before, after;  // null: was not there, is gone
};

struct Page {
  bool expired = false;  // history does not reach back to the version asked for
  std::vector<StoredPtr> items;
  std::uint64_t version = 0;
  std::string next;      // the key to go on from, empty: this was the last page
  size_t remaining = 0;  // objects after this page, whether they match or not
};

struct News {
  bool expired = false;
  std::vector<Change> changes;
  std::uint64_t version = 0;  // everything up to here has been told
};

// What a write comes to. reply.body is the object to store when Put.
struct Decision {
  enum class What { Nothing, Put, Remove } what = What::Nothing;
  Reply reply;
};

class Store {
 public:
  explicit Store(size_t history) : history_(history) {}

  StoredPtr find(const Resource& resource, const std::string& key) const;
  // As of `version` (0: now), from the key `from` on, keys with `prefix` only; limit 0: all.
  Page list(const Resource& resource, const std::string& prefix, const std::string& from,
            size_t limit, std::uint64_t version, const Matches& matches) const;
  // `decide` sees the object (null: none) while nobody else can write. A Put gets its resourceVersion here.
  Reply write(const Resource& resource, const std::string& key,
              const std::function<Decision(const json::Value& old)>& decide);

  // Waits for a change of the resource after `version`, until the deadline or until `interrupted`.
  News news(const Resource& resource, std::uint64_t version,
            std::chrono::steady_clock::time_point deadline,
            const std::function<bool()>& interrupted) const;
  void wake() { changed_.notify_all(); }  // lets waiting watches ask `interrupted`

  std::uint64_t version() const;
  // Whether a new watch can start there.
  bool remembers(const Resource& resource, std::uint64_t version) const;
  void forget_history();

 private:
  struct Collection {
    std::map<std::string, StoredPtr> objects;
    std::deque<Change> history;
    std::uint64_t forgotten = 0;  // the newest version dropped from history
  };
  const Collection& collection(const Resource& resource) const;

  const size_t history_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::map<std::string, Collection> collections_;
  std::uint64_t version_ = 100;  // not 0, which has a meaning of its own
  std::uint64_t forgotten_ = 0;  // by forget_history(), for every resource
};

}  // namespace nobs::sim
