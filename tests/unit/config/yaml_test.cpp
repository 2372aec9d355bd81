#include <doctest/doctest.h>

#include <string>

#include "shared/config/options.h"

namespace nobs::config {
namespace {

std::string as_json(const std::string& text) {
  const auto value = parse_yaml(text);
  return value ? json::dump(*value) : "error: " + value.error().message;
}

bool is_refused(const std::string& text, const std::string& because) {
  const auto value = parse_yaml(text);
  if (value) return false;
  CAPTURE(value.error().message);
  CHECK(value.error().message.find(because) != std::string::npos);
  return true;
}

}  // namespace

TEST_CASE("a document becomes the JSON that a reader expects") {
  CHECK(as_json("a: 1\nb:\n  - x\n  - {c: true}\n") == R"({"a":1,"b":["x",{"c":true}]})");
  CHECK(as_json("").substr(0, 4) == "null");
  CHECK(as_json("# only a comment\n") == "null");
  CHECK(as_json("---\na: b\n") == R"({"a":"b"})");
  CHECK(as_json(R"({"a": [1, 2.5, null, "x\n"]})") == R"({"a":[1,2.5,null,"x\n"]})");
  CHECK(as_json("a: 1\n...\n") == R"({"a":1})");
  CHECK(as_json("a: |+\n  x\n\n") == R"({"a":"x\n\n"})");
  CHECK(as_json("a: |\n  x") == R"({"a":"x\n"})");
  CHECK(as_json("text: |\n  one\n  two\n") == R"({"text":"one\ntwo\n"})");
  CHECK(as_json("text: >\n  one\n  two\n") == R"({"text":"one two\n"})");
}

TEST_CASE("plain scalars follow YAML 1.2: yes is a word, 010 is ten") {
  CHECK(as_json("[yes, no, on, off, y, n]") == R"(["yes","no","on","off","y","n"])");
  CHECK(as_json("[true, True, TRUE, false, tRue]") == R"([true,true,true,false,"tRue"])");
  CHECK(as_json("[010, 0o10, 0x1F, 0xg, 0o8, 0x, 0x-1]") == R"([10,8,31,"0xg","0o8","0x","0x-1"])");
  CHECK(as_json("[+7, -7, 1_000, 1:30, 0b1]") == R"([7,-7,"1_000","1:30","0b1"])");
  CHECK(as_json("[1.5, .5, 1., -1e3, 1e, e5, ., +.5, 1.2.3, -, +]") ==
        R"([1.5,0.5,1,-1000,"1e","e5",".",0.5,"1.2.3","-","+"])");
  CHECK(as_json("[.inf, .nan, -.INF]") == R"([".inf",".nan","-.INF"])");
  CHECK(as_json("[~, null, Null, NULL, nULL, ]") == R"([null,null,null,null,"nULL"])");
  CHECK(as_json("a:\nb: 2026-11-30\n") == R"({"a":null,"b":"2026-11-30"})");
  CHECK(as_json("[9223372036854775807, 9223372036854775808, 1e999]") ==
        R"([9223372036854775807,9223372036854775808,"1e999"])");
}

TEST_CASE("quoted scalars stay text") {
  CHECK(as_json(R"(['1', "true", "null", '', "010", "~"])") ==
        R"(["1","true","null","","010","~"])");
}

TEST_CASE("keys are text as written") {
  CHECK(as_json("8080: a\ntrue: b\n010: c\n\"q\": d\n") ==
        R"({"010":"c","8080":"a","q":"d","true":"b"})");
}

TEST_CASE("what would be read in two ways is refused with its place") {
  CHECK(is_refused("a: 1\nb: 2\na: 3\n", "line 3, column 1: the key \"a\" is there twice"));
  CHECK(is_refused("x: {a: 1, \"a\": 2}\n", "twice"));
  CHECK(is_refused("a: !!str 1\n", "tag"));
  CHECK(is_refused("a: !!binary aGVsbG8=\n", "tag"));
  CHECK(is_refused("a: !custom {b: 1}\n", "tag"));
  CHECK(is_refused("a: 1\n---\nb: 2\n", "second document"));
  CHECK(is_refused("base: &b {x: 1}\na:\n  <<: *b\n", "merge"));
  CHECK(is_refused("? [a, b]\n: c\n", "key must be text"));
  CHECK(is_refused("~: x\n", "key must be text"));
  CHECK(is_refused("&k a: x\n", "anchor on a key"));
}

TEST_CASE("what is no YAML is refused with its place") {
  CHECK(is_refused("a: [1, 2\n", "line"));
  CHECK(is_refused("a: b: c\n", "line 1"));
  CHECK(is_refused("a: *nowhere\n", "line 1"));
  for (const auto* text : {"a: \"open\n", "a: \"open", "'open\n\n", "[\"open", "a: 'b\n c: d\n"}) {
    CAPTURE(text);
    CHECK(is_refused(text, "line"));
  }
  CHECK(is_refused("\ta: 1\n", "line 1"));
}

TEST_CASE("aliases repeat what they name") {
  CHECK(as_json("a: &x {n: [1]}\nb: *x\nc: [*x]\n") ==
        R"({"a":{"n":[1]},"b":{"n":[1]},"c":[{"n":[1]}]})");
  CHECK(as_json("a: &x 1\nb: &x 2\nc: *x\n") == R"({"a":1,"b":2,"c":2})");
}

TEST_CASE("an alias inside the value it names is refused") {
  CHECK(is_refused("a: &x [*x]\n", "inside the value"));
}

TEST_CASE("aliases that multiply end at the node budget") {
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string previous = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + previous;
    for (int k = 0; k < 9; ++k) bomb += "," + previous;
    bomb += "]\n";
  }
  CHECK(is_refused(bomb, "100,000 values"));
}

TEST_CASE("aliases that multiply a long text end at the byte budget") {
  std::string bomb = "a: &a " + std::string(100'000, 'x') + "\nb: [";
  for (int i = 0; i < 100; ++i) bomb += "*a,";
  CHECK(is_refused(bomb + "]\n", "4 MiB"));
}

TEST_CASE("64 levels are read, 65 refused, also when an alias adds them, and 100,000 do no harm") {
  const auto nested = [](size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  CHECK(parse_yaml(nested(64)));
  CHECK(is_refused(nested(65), "64 levels"));
  CHECK(is_refused(
      "a: &a " + nested(40) + "\nb: " + std::string(30, '[') + "*a" + std::string(30, ']') + "\n",
      "64 levels"));
  CHECK_FALSE(parse_yaml(std::string(100'000, '[')));
  CHECK_FALSE(parse_yaml(std::string(100'000, '{')));
  std::string dashes;
  for (int i = 0; i < 50'000; ++i) dashes += "- ";
  CHECK_FALSE(parse_yaml(dashes));
}

TEST_CASE("a text above 4 MiB is refused unread") {
  CHECK(is_refused(std::string((4U << 20) + 1, ' '), "4 MiB"));
}

}  // namespace nobs::config
