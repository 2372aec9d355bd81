// The four wire types of protobuf: written field by field, read from hostile bytes.
//
// Inside shared/otel only. Source: protobuf.dev/programming-guides/encoding.
//
//   proto::Writer out;
//   out.bytes(1, "name");
//   proto::Reader in(out.text());
//   while (auto field = in.next()) use(field->number, field->bytes);
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nobs::otel::proto {

class Writer {
 public:
  void varint(int field, std::uint64_t value) {
    tag(field, 0);
    raw_varint(value);
  }
  void fixed64(int field, std::uint64_t value) {
    tag(field, 1);
    packed(value);
  }
  void real(int field, double value) { fixed64(field, std::bit_cast<std::uint64_t>(value)); }
  void bytes(int field, std::string_view value) {
    tag(field, 2);
    raw_varint(value.size());
    text_ += value;
  }
  // An element of a packed list of fixed64 or double; the list is then written as bytes.
  void packed(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) text_ += static_cast<char>(value >> shift & 0xFF);
  }
  const std::string& text() const { return text_; }

 private:
  void tag(int field, unsigned type) { raw_varint(static_cast<unsigned>(field) << 3 | type); }
  void raw_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
    text_ += static_cast<char>(value);
  }

  std::string text_;
};

struct Field {
  std::uint64_t number = 0;
  bool is_varint = false;
  std::uint64_t value = 0;  // of a varint
  std::string_view bytes;   // of a length-delimited field
};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  // Nothing at the end, and where the bytes stop being protobuf.
  std::optional<Field> next() {
    const auto tag = varint();
    if (!tag) return std::nullopt;
    Field field{.number = *tag >> 3};
    std::uint64_t length = 0;
    switch (*tag & 7) {
      case 0: {
        const auto value = varint();
        if (!value) return std::nullopt;
        field.is_varint = true;
        field.value = *value;
        return field;
      }
      case 1:
        length = 8;
        break;
      case 2: {
        const auto size = varint();
        if (!size) return std::nullopt;
        length = *size;
        break;
      }
      case 5:
        length = 4;
        break;
      default:
        return std::nullopt;
    }
    if (length > text_.size()) return std::nullopt;
    field.bytes = text_.substr(0, length);
    text_.remove_prefix(length);
    return field;
  }

 private:
  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < 10 && i < text_.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text_[i]);
      value |= std::uint64_t{byte & 0x7FU} << (7 * i);
      if (byte >= 0x80) continue;
      text_.remove_prefix(i + 1);
      return value;
    }
    return std::nullopt;
  }

  std::string_view text_;
};

}  // namespace nobs::otel::proto
