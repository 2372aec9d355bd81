#include "shared/json/splitter.h"

#include "shared/base/strings.h"
#include "shared/json/value.h"

namespace nobs::json {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

Error unexpected(char c, const char* where) {
  return invalid("a list cannot have \"" + printable({&c, 1}, 8) + "\" " + where);
}

Error too_large() { return invalid("an item of the list is larger than 4 MiB"); }

}  // namespace

ItemSplitter::ItemSplitter(OnDocument on_item) : on_item_(std::move(on_item)) {}

Result<void> ItemSplitter::feed(std::string_view piece) {
  while (!piece.empty()) {
    // Most bytes only add to what is collected: in one go (200 MB/s instead of 140).
    if (const size_t plain = plain_run(piece); plain > 0) {
      std::string& text = reading_key_ ? key_ : text_;
      if (text.size() + plain > kMaxItem) return too_large();
      text += piece.substr(0, plain);
      piece.remove_prefix(plain);
      continue;
    }
    if (auto taken = take(piece[0]); !taken) return taken;
    piece.remove_prefix(1);
  }
  return {};
}

// How many bytes at the front change no state.
size_t ItemSplitter::plain_run(std::string_view piece) const {
  size_t run = 0;
  if (in_string_) {
    if (escaped_) return 0;
    while (run < piece.size() && piece[run] != '"' && piece[run] != '\\') ++run;
  } else if (place_ == Place::InValue && depth_ > 0) {
    const auto is_plain = [](char c) {
      return c != '"' && c != '{' && c != '}' && c != '[' && c != ']';
    };
    while (run < piece.size() && is_plain(piece[run])) ++run;
  }
  return run;
}

Result<void> ItemSplitter::take(char c) {
  // Inside a value or a key: collect until it is over.
  if (in_string_) {
    std::string& text = reading_key_ ? key_ : text_;
    if (text.size() >= kMaxItem) return too_large();
    if (reading_key_ && c == '"' && !escaped_) {
      in_string_ = false;
      return {};
    }
    text += c;
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
      if (depth_ == 0) return finish_value();
    }
    return {};
  }
  if (place_ == Place::InValue) {
    const bool ends_scalar = depth_ == 0 && (c == ',' || c == '}' || c == ']' || is_space(c));
    if (!ends_scalar) {
      if (text_.size() >= kMaxItem) return too_large();
      text_ += c;
      if (c == '"') in_string_ = true;
      if (c == '{' || c == '[') {
        if (++depth_ > kMaxDepth) return invalid("a list item is nested deeper than 64 levels");
      }
      if (c == '}' || c == ']') {
        if (--depth_ == 0) return finish_value();
      }
      return {};
    }
    if (auto finished = finish_value(); !finished) return finished;
    // The separator itself is handled below.
  }
  if (is_space(c)) return {};
  switch (place_) {
    case Place::Start:
      if (c != '{') return unexpected(c, "in front of its first brace");
      place_ = Place::InList;
      return {};
    case Place::End:
      return unexpected(c, "behind its last brace");
    default:
      break;
  }
  if (in_items_) {
    if (c == ']') {
      in_items_ = false;
      key_.clear();
      reading_key_ = false;
      return {};
    }
    if (c == ',') return {};
  } else if (!reading_key_) {
    if (c == ',') return {};
    if (c == '}') {
      place_ = Place::End;
      return {};
    }
    if (c != '"') return unexpected(c, "where a key should be");
    key_.clear();
    reading_key_ = true;
    in_string_ = true;
    return {};
  } else {
    if (c == ':') return {};
    if (key_ == "items" && c == '[') {
      in_items_ = true;
      saw_items_ = true;
      reading_key_ = false;
      return {};
    }
  }
  // The first character of a value.
  if (c == '}' || c == ']' || c == ',' || c == ':') return unexpected(c, "where a value should be");
  place_ = Place::InValue;
  text_.assign(1, c);
  depth_ = c == '{' || c == '[' ? 1 : 0;
  in_string_ = c == '"';
  reading_key_ = false;
  return {};
}

Result<void> ItemSplitter::finish_value() {
  place_ = Place::InList;
  if (in_items_) {
    if (!on_item_(text_)) return Error{ErrorCode::Stopped, "the reader of the list stopped", 0, {}};
  } else {
    if (key_ == "items") {
      // Go writes null for a list without items. Anything else is no list, least of all an empty one.
      if (text_ != "null") return invalid("the items of a list must be an array");
      saw_items_ = true;
    }
    if (key_ == "metadata") metadata_ = text_;
    reading_key_ = false;
  }
  text_.clear();
  return {};
}

Result<ListEnd> ItemSplitter::finish() {
  if (place_ != Place::End) return Error{ErrorCode::Unreachable, "the list was cut short", 0, {}};
  if (!saw_items_) return invalid("this is no list: it has no items");
  const auto metadata = parse(metadata_.empty() ? std::string("{}") : metadata_);
  if (!metadata) return metadata.error();
  return ListEnd{(*metadata)["continue"].string_or(""),
                 (*metadata)["resourceVersion"].string_or("")};
}

Result<void> LineSplitter::feed(std::string_view piece) {
  while (!piece.empty()) {
    const size_t end = piece.find('\n');
    line_ += piece.substr(0, end);
    if (line_.size() > kMaxLine) return invalid("a line of the watch is larger than 4 MiB");
    if (end == std::string_view::npos) return {};
    piece.remove_prefix(end + 1);
    const bool blank = trim(line_).empty();
    if (!blank && !on_line_(line_))
      return Error{ErrorCode::Stopped, "the reader of the lines stopped", 0, {}};
    line_.clear();
  }
  return {};
}

}  // namespace nobs::json
