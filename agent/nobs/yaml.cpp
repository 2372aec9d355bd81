#include "agent/nobs/yaml.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "shared/base/strings.h"

namespace nobs::cli {
namespace {

using json::Value;

// Words that some YAML reader takes for something else than text.
constexpr std::array<std::string_view, 10> kTaken = {"true", "false", "null", "yes", "no",
                                                     "on",   "off",   "y",    "n",   "~"};

bool is_plain(const std::string& text) {
  if (text.empty() || std::isalpha(static_cast<unsigned char>(text[0])) == 0) return false;
  if (std::find(kTaken.begin(), kTaken.end(), lower(text)) != kTaken.end()) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.' ||
           c == '/';
  });
}

// A JSON string is a double-quoted scalar of YAML too.
std::string scalar(const Value& value) {
  const auto* text = value.if_string();
  return text != nullptr && is_plain(*text) ? *text : json::dump(value);
}

bool is_block(const Value& value) { return !value.items().empty() || !value.members().empty(); }

void write(const Value& value, size_t depth, bool begins_on_line, std::string& out) {
  bool first = begins_on_line;
  const auto indent = [&] {
    if (!first) out.append(2 * depth, ' ');
    first = false;
  };
  if (!is_block(value)) {
    out += scalar(value) + "\n";
    return;
  }
  for (const auto& item : value.items()) {
    indent();
    out += "- ";
    write(item, depth + 1, true, out);
  }
  for (const auto& [name, member] : value.members()) {
    indent();
    out += scalar(Value(name)) + ":";
    if (!is_block(member)) {
      out += " " + scalar(member) + "\n";
    } else {
      out += "\n";
      write(member, member.is_array() ? depth : depth + 1, false, out);
    }
  }
}

}  // namespace

std::string to_yaml(const Value& value) {
  std::string text;
  write(value, 0, true, text);
  return text;
}

}  // namespace nobs::cli
