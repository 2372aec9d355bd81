#include "shared/base/strings.h"

#include <doctest/doctest.h>

#include <string>

namespace nobs {

TEST_CASE("split keeps empty pieces") {
  using Pieces = std::vector<std::string_view>;
  CHECK(split("a,,b", ',') == Pieces{"a", "", "b"});
  CHECK(split("", ',') == Pieces{""});
  CHECK(split(",", ',') == Pieces{"", ""});
  CHECK(join({"a", "b", ""}, ", ") == "a, b, ");
  CHECK(join({}, ", ").empty());
  CHECK(join({"", "x"}, "-") == "-x");
}

TEST_CASE("trim takes white space from both ends only") {
  CHECK(trim(" \t a b \r\n") == "a b");
  CHECK(trim(" \n").empty());
  CHECK(trim("").empty());
}

TEST_CASE("parse_u64 takes whole decimal numbers and nothing else") {
  CHECK(parse_u64("0") == 0U);
  CHECK(parse_u64("007") == 7U);
  CHECK(parse_u64("18446744073709551615") == 18446744073709551615ULL);
  for (const auto* wrong :
       {"", " 1", "1 ", "-1", "+1", "0x1", "1.0", "18446744073709551616", "a"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_u64(wrong));
  }
}

TEST_CASE("a text that fits is not cut") {
  CHECK(utf8("abc", 3) == "abc");
  CHECK(utf8("a", 1) == "a");
  CHECK(utf8("ü", 2) == "ü");
  CHECK(printable(std::string(40, 'x'), 40) == std::string(40, 'x'));
}

TEST_CASE("a cut keeps whole characters, ends in an ellipsis and never exceeds the limit") {
  const std::string text = "aü😀z\xFFq";
  for (size_t limit = 0; limit < 20; ++limit) {
    CAPTURE(limit);
    const std::string cut = utf8(text, limit);
    CHECK(cut.size() <= limit);
    CHECK(utf8(cut, 100) == cut);
    const bool whole = cut == "aü😀z\xEF\xBF\xBDq";
    CHECK((whole || limit < 3 || cut.ends_with("…")));
    CHECK(whole == (limit >= 12));
  }
  CHECK(utf8("abcdef", 5) == "ab…");
  CHECK(utf8("aüü", 4) == "a…");
}

TEST_CASE("wrong UTF-8 becomes replacement characters, byte by byte") {
  const std::string replaced = "\xEF\xBF\xBD";
  CHECK(utf8("\x80", 10) == replaced);
  CHECK(utf8("\xC0\xAF", 10) == replaced + replaced);                 // overlong
  CHECK(utf8("\xED\xA0\x80", 10) == replaced + replaced + replaced);  // surrogate
  CHECK(utf8("\xF4\x90\x80\x80", 20) == replaced + replaced + replaced + replaced);
  CHECK(utf8("\xE2\x82", 10) == replaced + replaced);  // cut short
  CHECK(utf8(std::string("a\0b", 3), 10) == std::string("a\0b", 3));
}

TEST_CASE("printable shows control characters, also an escape sequence of a terminal") {
  CHECK(printable("a\n\x1b[2J\x7f", 100) == "a\\x0a\\x1b[2J\\x7f");
  CHECK(printable("ü", 100) == "ü");
}

TEST_CASE("nearest finds a slip of the finger and no more") {
  const std::vector<std::string> known = {"collection.interval", "log.level", "mode"};
  CHECK(nearest("collection.intervall", known) == "collection.interval");
  CHECK(nearest("log.lvel", known) == "log.level");
  CHECK(nearest("moed", known) == std::nullopt);  // two changes are half of four
  CHECK(nearest("modes", known) == "mode");
  CHECK(nearest("something.else", known) == std::nullopt);
  CHECK(nearest("", known) == std::nullopt);
  CHECK(nearest(std::string(10'000, 'x'), known) == std::nullopt);
}

TEST_CASE("percent_encode leaves only unreserved characters") {
  CHECK(percent_encode("aZ09-._~") == "aZ09-._~");
  CHECK(percent_encode("a/b c=d,e&f?g#h%") == "a%2Fb%20c%3Dd%2Ce%26f%3Fg%23h%25");
  CHECK(percent_encode("ü\n") == "%C3%BC%0A");
}

TEST_CASE("base64 goes there and back, and refuses what is none") {
  CHECK(base64_encode("") == "");
  CHECK(base64_encode("f") == "Zg==");
  CHECK(base64_encode("fo") == "Zm8=");
  CHECK(base64_encode("foobar") == "Zm9vYmFy");
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  CHECK(base64_decode(base64_encode(all)) == all);
  CHECK(base64_decode("Zm9v\nYmFy\n") == "foobar");
  for (const auto* wrong : {"Z", "Zg", "Zg=", "Zg===", "====", "Zg==Zg==", "Z-==", "=Zg="}) {
    CAPTURE(wrong);
    CHECK_FALSE(base64_decode(wrong));
  }
}

TEST_CASE("hashes are the published ones and stay the same for ever") {
  CHECK(hex16(fnv1a("")) == "cbf29ce484222325");
  CHECK(hex16(fnv1a("a")) == "af63dc4c8601ec8c");
  CHECK(hex16(fnv1a("foobar")) == "85944171f73967e8");
  CHECK(hex16(0) == "0000000000000000");
}

}  // namespace nobs
