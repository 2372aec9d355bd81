// Splits a stream of bytes into JSON documents, so that memory does not grow with the length of a list.
//
// For the reflector and whoever reads lists: feed what arrives, in pieces of any size. A document is handed out as text,
// valid only during the call. Not thread-safe. Errors are final: throw the splitter away.
//
//   ItemSplitter items([&](std::string_view item) { ...; return true; });
//   stream(request, [&](std::string_view piece) { return bool(items.feed(piece)); });
//   if (auto end = items.finish(); end) use(end->continue_token, end->resource_version);
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "shared/base/result.h"

namespace nobs::json {

// False stops the reading: the splitter then answers ErrorCode::Stopped.
using OnDocument = std::function<bool(std::string_view)>;

struct ListEnd {
  std::string continue_token;    // empty: this was the last page
  std::string resource_version;  // of the whole list
};

// The elements of the top-level "items" of a Kubernetes list, one by one. "metadata" may come before or after them.
class ItemSplitter {
 public:
  static constexpr size_t kMaxItem = 4 << 20;  // etcd refuses objects above 1.5 MiB

  explicit ItemSplitter(OnDocument on_item);

  Result<void> feed(std::string_view piece);
  // After the last byte. An error when the list was cut short or had no items: a Status is no empty list.
  Result<ListEnd> finish();

 private:
  enum class Place { Start, InList, InValue, End };

  size_t plain_run(std::string_view piece) const;
  Result<void> take(char c);
  Result<void> finish_value();

  OnDocument on_item_;
  Place place_ = Place::Start;
  bool in_items_ = false;
  bool saw_items_ = false;
  bool in_string_ = false;
  bool escaped_ = false;
  int depth_ = 0;  // brackets open inside the value being collected
  bool reading_key_ = false;
  std::string key_;
  std::string text_;  // the value being collected
  std::string metadata_;
};

// Lines of a watch: one document a line. Empty lines are skipped; a last line without a newline is dropped (it was cut).
class LineSplitter {
 public:
  static constexpr size_t kMaxLine = 4 << 20;

  explicit LineSplitter(OnDocument on_line) : on_line_(std::move(on_line)) {}

  Result<void> feed(std::string_view piece);

 private:
  OnDocument on_line_;
  std::string line_;
};

}  // namespace nobs::json
