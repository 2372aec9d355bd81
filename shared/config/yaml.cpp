// The only file that knows yaml-cpp: its events fill our value. Events, not its node tree, because that tree hides
// duplicate keys and lets aliases multiply unseen.
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

#include "shared/base/strings.h"
#include "shared/config/options.h"

namespace nobs::config {
namespace {

using json::Value;

constexpr size_t kMaxText = 4U << 20;    // a kubeconfig of a hundred clusters has 400 KB
constexpr size_t kMaxNodes = 100'000;    // after aliases were expanded
constexpr size_t kMaxCopied = 4U << 20;  // bytes of text that aliases may add

// Leaves yaml-cpp's parser from inside a callback; never leaves parse_yaml.
struct Refused {
  std::string message;
};

[[noreturn]] void refuse(const YAML::Mark& mark, const std::string& what) {
  throw Refused{"line " + std::to_string(mark.line + 1) + ", column " +
                std::to_string(mark.column + 1) + ": " + what};
}

bool all_of(std::string_view text, std::string_view accepted) {
  return !text.empty() && text.find_first_not_of(accepted) == std::string_view::npos;
}

// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool is_decimal(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  const size_t exponent = text.find_first_of("eE");
  if (exponent != std::string_view::npos) {
    std::string_view power = text.substr(exponent + 1);
    if (!power.empty() && (power[0] == '-' || power[0] == '+')) power.remove_prefix(1);
    if (!all_of(power, kDigits)) return false;
    text = text.substr(0, exponent);
  }
  const size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  if (point == std::string_view::npos) return all_of(whole, kDigits);
  const std::string_view fraction = text.substr(point + 1);
  if (whole.empty()) return all_of(fraction, kDigits);
  return all_of(whole, kDigits) && (fraction.empty() || all_of(fraction, kDigits));
}

std::optional<std::int64_t> whole_number(std::string_view text, int base) {
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// YAML 1.2 core schema (section 10.3.2); .inf and .nan stay text, since JSON has no such numbers.
Value plain_scalar(const std::string& text) {
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  const std::string_view view = text;
  if (view.starts_with("0x") || view.starts_with("0o")) {
    const auto number = whole_number(view.substr(2), view[1] == 'x' ? 16 : 8);
    if (number && view[2] != '-') return *number;
    return text;
  }
  if (!is_decimal(view)) return text;
  const std::string_view unsigned_plus = view.substr(view[0] == '+' ? 1 : 0);
  if (const auto number = whole_number(unsigned_plus, 10)) return *number;
  double real = 0;
  const auto [end, failure] =
      std::from_chars(unsigned_plus.data(), unsigned_plus.data() + unsigned_plus.size(), real);
  if (failure != std::errc{} || end != unsigned_plus.data() + unsigned_plus.size()) return text;
  return real;
}

struct Size {
  size_t nodes = 1, bytes = 0, depth = 0;
};

Size measure(const Value& value) {
  Size size;
  const auto add = [&size](const Value& child, size_t key_bytes) {
    const Size inner = measure(child);
    size.nodes += inner.nodes;
    size.bytes += inner.bytes + key_bytes;
    size.depth = std::max(size.depth, inner.depth);
  };
  if (const auto* text = value.if_string()) size.bytes = text->size();
  for (const auto& item : value.items()) add(item, 0);
  for (const auto& [key, member] : value.members()) add(member, key.size());
  if (value.is_array() || value.is_object()) ++size.depth;
  return size;
}

class Builder : public YAML::EventHandler {
 public:
  Value take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) refuse(mark, "a second document; one is accepted");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (wants_key()) refuse(mark, "a key must be text");
    add(mark, Value(), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchored_.find(anchor);
    if (wants_key()) refuse(mark, "an alias as a key is not accepted");
    if (found == anchored_.end()) refuse(mark, "an alias inside the value it names");
    add(mark, copy(mark, found->second), YAML::NullAnchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    check_tag(mark, tag);
    if (wants_key()) {
      if (anchor != YAML::NullAnchor) refuse(mark, "an anchor on a key is not accepted");
      if (tag == "?" && text == "<<") refuse(mark, "merge keys (<<) are not accepted");
      if (open_.back().value.contains(text)) {
        refuse(mark, "the key \"" + printable(text, 100) + "\" is there twice");
      }
      open_.back().key = text;
      open_.back().has_key = true;
      return;
    }
    add(mark, tag == "?" ? plain_scalar(text) : Value(text), anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, json::Array{});
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, json::Object{});
  }
  void OnMapEnd() override { close(); }

 private:
  struct Level {
    YAML::Mark mark;
    Value value;
    YAML::anchor_t anchor = YAML::NullAnchor;
    std::string key;
    bool has_key = false;
  };

  bool wants_key() const {
    return !open_.empty() && open_.back().value.is_object() && !open_.back().has_key;
  }

  // yaml-cpp says "?" for plain, "!" for quoted, nothing for some collections.
  static void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!") {
      refuse(mark, "the tag " + printable(tag, 60) + " is not accepted");
    }
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Value empty) {
    check_tag(mark, tag);
    if (wants_key()) refuse(mark, "a key must be text");
    if (open_.size() >= static_cast<size_t>(json::kMaxDepth)) refuse_depth(mark);
    open_.push_back({mark, std::move(empty), anchor, {}, false});
  }

  void close() {
    Level finished = std::move(open_.back());
    open_.pop_back();
    add(finished.mark, std::move(finished.value), finished.anchor);
  }

  void add(const YAML::Mark& mark, Value value, YAML::anchor_t anchor) {
    spend(mark, 1);
    if (anchor != YAML::NullAnchor) anchored_.insert_or_assign(anchor, copy(mark, value));
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().value.is_object()) {
      open_.back().value[open_.back().key] = std::move(value);
      open_.back().has_key = false;
    } else {
      open_.back().value.push_back(std::move(value));
    }
  }

  Value copy(const YAML::Mark& mark, const Value& value) {
    const Size size = measure(value);
    if (open_.size() + size.depth > static_cast<size_t>(json::kMaxDepth)) refuse_depth(mark);
    spend(mark, size.nodes);
    copied_ += size.bytes;
    if (copied_ > kMaxCopied) refuse(mark, "aliases repeat more than 4 MiB of text");
    return value;
  }

  void spend(const YAML::Mark& mark, size_t nodes) {
    nodes_ += nodes;
    if (nodes_ > kMaxNodes) refuse(mark, "more than 100,000 values, aliases expanded");
  }

  [[noreturn]] static void refuse_depth(const YAML::Mark& mark) {
    refuse(mark, "nested deeper than " + std::to_string(json::kMaxDepth) + " levels");
  }

  std::vector<Level> open_;
  std::map<YAML::anchor_t, Value> anchored_;
  Value root_;
  int documents_ = 0;
  size_t nodes_ = 0, copied_ = 0;
};

}  // namespace

Result<json::Value> parse_yaml(std::string_view text) {
  if (text.size() > kMaxText) return invalid("larger than 4 MiB");
  try {
    // yaml-cpp takes a quote that is still open at the end of the file for closed, but not before a document's end.
    std::string marked(text);
    marked += marked.ends_with('\n') ? "...\n" : "\n...\n";
    std::istringstream stream(marked);
    YAML::Parser parser(stream);
    Builder builder;
    while (parser.HandleNextDocument(builder)) {
    }
    return builder.take();
  } catch (const Refused& refused) {
    return invalid(refused.message);
  } catch (const YAML::Exception& wrong) {
    return invalid("line " + std::to_string(wrong.mark.line + 1) + ", column " +
                   std::to_string(wrong.mark.column + 1) + ": " + printable(wrong.msg, 200));
  } catch (const std::exception& wrong) {  // its scanner lets some of std's through
    return invalid("not YAML: " + printable(wrong.what(), 200));
  }
}

}  // namespace nobs::config
