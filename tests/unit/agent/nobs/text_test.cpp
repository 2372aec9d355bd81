#include "agent/nobs/text.h"

#include <doctest/doctest.h>

#include "agent/nobs/metrics_view.h"
#include "agent/nobs/sse.h"
#include "agent/nobs/yaml.h"
#include "shared/base/rfc3339.h"
#include "shared/config/options.h"

using namespace nobs;
using namespace nobs::cli;

TEST_CASE("nothing from outside reaches the terminal as more than text") {
  CHECK(clean("a\x1b[2Jb\r\n\t\x07") == "a\\x1b[2Jb\\x0d\\x0a\\x09\\x07");
  CHECK(clean("\xc2\x9b"
              "31m") == "\\u009b31m");  // CSI in one character
  CHECK(clean("\xe2\x80\xae"
              "abc") == "\\u202eabc");      // right to left
  CHECK(clean("\xf3\xa0\x81\x81") == "?");  // an invisible tag
  CHECK(clean("ü é 中 \xff") == "ü é 中 \xef\xbf\xbd");
  const json::Value odd = json::array({"\x1b\x7f\xc2\x9b\xe2\x80\xae"});
  const auto text = clean_json(json::dump(odd));
  CHECK(text == "[\"\\u001b\\u007f\\u009b\\u202e\"]");
  CHECK(*json::parse(text) == odd);
}

TEST_CASE("columns are as wide as they must be, and shrink where the page ends") {
  const std::vector<Row> rows = {{"A", "LONG", "C"}, {"1", "äöüäöüäöüäöü", "x"}, {"22", "b", ""}};
  CHECK(table(rows, {0, false}) ==
        "A   LONG          C\n"
        "1   äöüäöüäöüäöü  x\n"
        "22  b\n");
  CHECK(table(rows, {13, false}) ==
        "A   LONG    C\n"
        "1   äöüäö…  x\n"
        "22  b\n");
  const auto coloured = table({{"A"}, {{"bad", Style::Bad}}}, {0, true});
  CHECK(coloured == "\x1b[1mA\x1b[0m\n\x1b[31mbad\x1b[0m\n");
}

TEST_CASE("text is wrapped at words") {
  CHECK(wrap("one two three", 10, 2) == std::vector<std::string>{"one two", "three"});
  CHECK(wrap("extraordinary", 5, 0) == std::vector<std::string>{"extraordinary"});
  CHECK(wrap("a b", 0, 9) == std::vector<std::string>{"a b"});
}

TEST_CASE("ages and sizes are short") {
  const auto now = *parse_rfc3339("2026-11-30T14:00:00Z");
  CHECK(age("2026-11-30T13:59:01Z", now) == "59s");
  CHECK(age("2026-11-30T13:00:00Z", now) == "60m");
  CHECK(age("2026-11-29T14:00:00Z", now) == "24h");
  CHECK(age("2026-11-20T14:00:00Z", now) == "10d");
  CHECK(age("2027-11-20T14:00:00Z", now) == "0s");
  CHECK(age("yesterday", now) == "-");
  CHECK(bytes_text(1000) == "1000");
  CHECK(bytes_text(103'079'215'104.0) == "96.0G");
}

TEST_CASE("YAML reads back as what it was") {
  const auto value = *json::parse(
      R"({"a": "yes", "b": "2026-11-30", "c": [1, {"d": [], "e": {}}, ["x", ["y"]], {"f": [true, null]}],
          "word": "HBMUncorrectable", "odd key: ": "a: \"b\"\n\u001b #c", "": ""})");
  const auto text = to_yaml(value);
  const auto back = config::parse_yaml(text);
  REQUIRE_MESSAGE(back, text);
  CHECK(*back == value);
  CHECK(text.find("word: HBMUncorrectable\n") != std::string::npos);
  CHECK(text.find("a: \"yes\"\n") != std::string::npos);
}

TEST_CASE("metrics become rows, filtered by what their line contains") {
  const char* text =
      "# HELP a_total Things.\n# TYPE a_total counter\n"
      "a_total{x=\"1\",y=\"}\\\"{ \"} 5 1234\n"
      "b 1e+09\nnonsense\n{}\nc{ 1\nd{x=\"\\x1b[0m\"} NaN\n";
  const auto all = parse_metrics(text, "");
  REQUIRE(all.items().size() == 3);
  CHECK(all.items()[0]["labels"].string_or("") == "x=\"1\",y=\"}\\\"{ \"");
  CHECK(all.items()[0]["value"].string_or("") == "5");
  CHECK(parse_metrics(text, "x=\"1\"").items().size() == 1);
  CHECK(metrics_text(parse_metrics(text, "b "), {80, false}) == "VALUE  NAME  LABELS\n1e+09  b\n");
  CHECK(metrics_text(parse_metrics(text, "zzz"), {80, false}) == "no such series\n");
}

TEST_CASE("events are taken out of any pieces, and never grow without bound") {
  const std::string stream =
      ": hello\n\nid: 7\ndata: {\ndata: }\n\nevent: reset\r\nid:8\r\ndata:x\r\n\r\ndata: half";
  for (size_t size = 1; size <= stream.size(); ++size) {
    std::string seen;
    SseReader reader([&](const SseEvent& event) {
      seen += event.id + "|" + event.name + "|" + event.data + ";";
    });
    for (size_t at = 0; at < stream.size(); at += size)
      CHECK(reader.feed(std::string_view(stream).substr(at, size)));
    CHECK(seen == "7||{\n};8|reset|x;");
  }
  SseReader reader([](const SseEvent&) {});
  bool goes_on = true;
  for (int i = 0; i < 40 && goes_on; ++i)
    goes_on = reader.feed("data: " + std::string(50'000, 'a') + "\n");
  CHECK_FALSE(goes_on);
}
