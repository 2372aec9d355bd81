#include "shared/json/value.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

namespace nobs::json {
namespace {

std::string round_trip(const std::string& text) {
  const auto value = parse(text);
  return value ? dump(*value) : "error: " + value.error().message;
}

bool is_refused(const std::string& text) { return !parse(text); }

}  // namespace

TEST_CASE("what we write reads back as the same value") {
  for (const std::string text : {
           "null",
           "true",
           "false",
           "0",
           "-1",
           "9223372036854775807",
           "-9223372036854775808",
           "1.5",
           "-0.001",
           "1e+300",
           "\"\"",
           R"("a\"\\\n\r\t\u0001\u001f/")",
           "\"ü\xE2\x80\xA8😀\"",
           "[]",
           "{}",
           R"([1,[2,{"a":[]}],"x"])",
           R"({"a":{"b":null},"c":[true]})",
       }) {
    CAPTURE(text);
    CHECK(round_trip(text) == text);
    const auto value = parse(text);
    REQUIRE(value);
    const auto pretty = parse(dump_pretty(*value));
    REQUIRE(pretty);
    CHECK(*pretty == *value);
  }
}

TEST_CASE("escapes are read, keys are written in order, of equal keys the last counts") {
  CHECK(round_trip(R"("\u00fc\ud83d\ude00\/\b\f")") == "\"ü😀/\\u0008\\u000c\"");
  CHECK(round_trip(R"( { "b" : 1 , "a" : 2 } )") == R"({"a":2,"b":1})");
  CHECK(round_trip(R"({"a":1,"a":2})") == R"({"a":2})");
}

TEST_CASE("what is no JSON is refused with the byte where it ends") {
  for (const std::string text : {"",
                                 " ",
                                 "{",
                                 "[1,]",
                                 "{\"a\"}",
                                 "{\"a\":1,}",
                                 "nul",
                                 "01",
                                 "+1",
                                 "1.",
                                 ".5",
                                 "'a'",
                                 "\"a",
                                 "\"\x01\"",
                                 "[1] 2",
                                 "NaN",
                                 "Infinity",
                                 "// c\n1",
                                 R"("\ud800")",
                                 R"("\x41")",
                                 "\"\xff\"",
                                 "\"\xc0\x80\"",
                                 "\"\xed\xa0\x80\"",
                                 "1e999"}) {
    CAPTURE(text);
    CHECK(is_refused(text));
  }
  const auto wrong = parse(R"({"a": nope})");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().message.find("byte 8") != std::string::npos);
}

TEST_CASE("64 levels are read, 65 and a million are refused without harm") {
  const auto nested = [](size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  CHECK(parse(nested(64)));
  CHECK(is_refused(nested(65)));
  CHECK(is_refused(std::string(1'000'000, '[')));
  std::string objects;
  for (int i = 0; i < 1'000; ++i) objects += R"({"a":)";
  CHECK(is_refused(objects));
}

TEST_CASE("numbers beyond 64 bits become doubles, whole doubles count as integers") {
  CHECK(Value(std::numeric_limits<std::uint64_t>::max()).if_double() ==
        doctest::Approx(1.8446744e19));
  CHECK_FALSE(Value(std::numeric_limits<std::uint64_t>::max()).if_int());
  CHECK(Value(std::uint64_t{7}).if_int() == 7);
  CHECK(Value(3.0).if_int() == 3);
  CHECK_FALSE(Value(3.5).if_int());
  CHECK_FALSE(Value("3").if_int());
  CHECK(Value(3).if_double() == 3.0);
  CHECK(parse("123456789012345678901234567890")->if_double() == doctest::Approx(1.2345678901e29));
}

TEST_CASE("NaN and infinity are written as null, wrong bytes as replacement characters") {
  CHECK(dump(Value(std::nan(""))) == "null");
  CHECK(dump(Value(std::numeric_limits<double>::infinity())) == "null");
  CHECK(dump(Value(std::string("a\xff") + "b")) ==
        "\"a\xEF\xBF\xBD"
        "b\"");
  CHECK(parse(dump(Value(std::string(300, '\xff')))));
}

TEST_CASE("looking up what is not there gives null, however deep") {
  const Value value = object({{"a", object({{"b", 1}})}, {"list", array({1, 2})}});
  CHECK(value["a"]["b"].int_or(0) == 1);
  CHECK(value["x"]["y"]["z"].is_null());
  CHECK(value["a"]["b"]["c"].is_null());
  CHECK(value["list"]["a"].is_null());
  CHECK(value["a"].items().empty());
  CHECK(value["list"].members().empty());
  CHECK(value["a"]["b"].string_or("none") == "none");
  CHECK(value["list"].bool_or(true));
  CHECK(value.contains("a"));
  CHECK_FALSE(value.contains("b"));
  CHECK_FALSE(value["list"].contains("0"));
}

TEST_CASE("building turns values into objects and arrays as needed") {
  Value value;
  value["a"]["b"] = 1;
  value["list"].push_back("x");
  value["list"].push_back(Value());
  CHECK(dump(value) == R"({"a":{"b":1},"list":["x",null]})");
  value["a"].erase("b");
  value["a"].erase("never there");
  CHECK(dump(value["a"]) == "{}");
}

TEST_CASE("an array of one item stays an array") {
  CHECK(dump(array({array({1})})) == "[[1]]");
  CHECK(dump(array({object({{"a", "b"}})})) == R"([{"a":"b"}])");
  CHECK(dump(array({})) == "[]");
}

TEST_CASE("a merge patch does what RFC 7386, appendix A, says") {
  const struct {
    const char *target, *patch, *result;
  } cases[] = {
      {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
      {R"({"a":"b"})", R"({"a":null})", "{}"},
      {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
      {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
      {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
      {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
      {R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
      {R"({"a":"b"})", R"(["c"])", R"(["c"])"},
      {R"({"a":"foo"})", "null", "null"},
      {R"({"a":"foo"})", R"("bar")", R"("bar")"},
      {R"({"e":null})", R"({"a":1})", R"({"a":1,"e":null})"},
      {"[1,2]", R"({"a":"b","c":null})", R"({"a":"b"})"},
      {"{}", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
  };
  for (const auto& [target_text, patch, result] : cases) {
    CAPTURE(target_text);
    CAPTURE(patch);
    Value target = *parse(target_text);
    merge(target, *parse(patch));
    CHECK(dump(target) == result);
  }
}

TEST_CASE("a pointer token escapes the slash of annotation keys") {
  CHECK(pointer_token("neuronobserver.io/quarantine") == "neuronobserver.io~1quarantine");
  CHECK(pointer_token("a~b/c") == "a~0b~1c");
  CHECK(pointer_token("~1") == "~01");
}

}  // namespace nobs::json
