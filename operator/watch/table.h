// Rows by name, kept current by a list and a watch. Not thread-safe: the cache has the lock.
//
//   table.begin_list(); table.put("a", row); ...; for (auto& gone : table.end_list()) ...
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace nobs::watch {

template <typename Row>
class Table {
 public:
  void begin_list() {
    unlisted_.clear();
    for (const auto& [name, row] : rows_) unlisted_.insert(name);
  }

  // The row that was there before.
  std::optional<Row> put(const std::string& name, Row row) {
    unlisted_.erase(name);
    const auto found = rows_.find(name);
    if (found == rows_.end()) {
      rows_.emplace(name, std::move(row));
      return std::nullopt;
    }
    return std::exchange(found->second, std::move(row));
  }

  std::optional<Row> erase(const std::string& name) {
    unlisted_.erase(name);
    const auto found = rows_.find(name);
    if (found == rows_.end()) return std::nullopt;
    std::optional<Row> gone = std::move(found->second);
    rows_.erase(found);
    return gone;
  }

  // Only a whole list proves that what it does not name is gone.
  std::vector<Row> end_list() {
    listed_ = true;
    std::vector<Row> gone;
    for (const auto& name : std::exchange(unlisted_, {})) {
      if (auto row = erase(name)) gone.push_back(std::move(*row));
    }
    return gone;
  }

  bool listed() const { return listed_; }
  const std::map<std::string, Row>& rows() const { return rows_; }
  const Row* find(const std::string& name) const {
    const auto found = rows_.find(name);
    return found == rows_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::string, Row> rows_;
  std::set<std::string> unlisted_;
  bool listed_ = false;
};

}  // namespace nobs::watch
