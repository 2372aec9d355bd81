#include "shared/json/value.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "shared/base/strings.h"

namespace nobs::json {
namespace {

const Value kNull;
const Array kNoItems;
const Object kNoMembers;

void write_string(std::string& out, std::string_view text) {
  // Four bytes for each is the most that replacing wrong bytes can need.
  const std::string clean = utf8(text, text.size() * 4 + 4);
  out += '"';
  for (const char c : clean) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          constexpr char kHex[] = "0123456789abcdef";
          out += "\\u00";
          out += kHex[static_cast<unsigned char>(c) >> 4];
          out += kHex[c & 15];
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

template <typename Number>
void write_number(std::string& out, Number value) {
  char text[40];
  const auto [end, failure] = std::to_chars(text, text + sizeof text, value);
  out.append(text, failure == std::errc{} ? end : text);
}

struct Writer {
  std::string out;
  bool pretty;

  void line(size_t indent) {
    if (!pretty) return;
    out += '\n';
    out.append(indent * 2, ' ');
  }

  void write(const Value& value, size_t indent) {
    if (const auto* object = value.if_object()) {
      out += '{';
      bool first = true;
      for (const auto& [key, member] : *object) {
        if (!first) out += ',';
        first = false;
        line(indent + 1);
        write_string(out, key);
        out += pretty ? ": " : ":";
        write(member, indent + 1);
      }
      if (!first) line(indent);
      out += '}';
    } else if (const auto* array = value.if_array()) {
      out += '[';
      bool first = true;
      for (const auto& item : *array) {
        if (!first) out += ',';
        first = false;
        line(indent + 1);
        write(item, indent + 1);
      }
      if (!first) line(indent);
      out += ']';
    } else {
      write_scalar(value);
    }
  }

  void write_scalar(const Value& value) {
    if (const auto* text = value.if_string()) {
      write_string(out, *text);
    } else if (value.is_bool()) {
      out += value.bool_or(false) ? "true" : "false";
    } else if (const auto number = value.if_int(); number) {
      write_number(out, *number);
    } else if (const auto real = value.if_double(); real && std::isfinite(*real)) {
      write_number(out, *real);
    } else {
      out += "null";
    }
  }
};

}  // namespace

Value::Value(std::uint64_t value) {
  if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    content_ = static_cast<std::int64_t>(value);
  } else {
    content_ = static_cast<double>(value);
  }
}

std::optional<bool> Value::if_bool() const {
  const auto* value = std::get_if<bool>(&content_);
  return value ? std::optional(*value) : std::nullopt;
}

std::optional<std::int64_t> Value::if_int() const {
  if (const auto* whole = std::get_if<std::int64_t>(&content_)) return *whole;
  const auto* real = std::get_if<double>(&content_);
  if (real && std::nearbyint(*real) == *real && std::abs(*real) < 9.0e18)
    return static_cast<std::int64_t>(*real);
  return std::nullopt;
}

std::optional<double> Value::if_double() const {
  if (const auto* real = std::get_if<double>(&content_)) return *real;
  if (const auto* whole = std::get_if<std::int64_t>(&content_)) return static_cast<double>(*whole);
  return std::nullopt;
}

std::string Value::string_or(std::string_view fallback) const {
  const auto* text = if_string();
  return text ? *text : std::string(fallback);
}

const Array& Value::items() const {
  const auto* array = if_array();
  return array ? *array : kNoItems;
}

const Object& Value::members() const {
  const auto* object = if_object();
  return object ? *object : kNoMembers;
}

const Value& Value::operator[](std::string_view key) const {
  if (const auto* object = if_object()) {
    if (const auto found = object->find(key); found != object->end()) return found->second;
  }
  return kNull;
}

bool Value::contains(std::string_view key) const {
  const auto* object = if_object();
  return object && object->find(key) != object->end();
}

Value& Value::operator[](std::string_view key) {
  if (!is_object()) content_ = Object{};
  auto& object = std::get<Object>(content_);
  if (const auto found = object.find(key); found != object.end()) return found->second;
  return object[std::string(key)];
}

void Value::erase(std::string_view key) {
  if (auto* object = std::get_if<Object>(&content_)) {
    if (const auto found = object->find(key); found != object->end()) object->erase(found);
  }
}

void Value::push_back(Value value) {
  if (!is_array()) content_ = Array{};
  std::get<Array>(content_).push_back(std::move(value));
}

Value object(std::initializer_list<std::pair<const std::string, Value>> members) {
  return Object(members);
}
Value array(std::initializer_list<Value> items) { return Array(items); }

std::string dump(const Value& value) {
  Writer writer{{}, false};
  writer.write(value, 0);
  return std::move(writer.out);
}

std::string dump_pretty(const Value& value) {
  Writer writer{{}, true};
  writer.write(value, 0);
  return std::move(writer.out);
}

void merge(Value& target, const Value& patch) {
  const auto* members = patch.if_object();
  if (!members) {
    target = patch;
    return;
  }
  if (!target.is_object()) target = Object{};
  for (const auto& [key, value] : *members) {
    if (value.is_null()) {
      target.erase(key);
    } else {
      merge(target[key], value);
    }
  }
}

std::string pointer_token(std::string_view key) {
  std::string token;
  for (const char c : key) {
    if (c == '~') {
      token += "~0";
    } else if (c == '/') {
      token += "~1";
    } else {
      token += c;
    }
  }
  return token;
}

}  // namespace nobs::json
