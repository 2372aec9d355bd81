#include "shared/json/splitter.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "shared/json/value.h"

namespace nobs::json {
namespace {

struct Split {
  std::vector<std::string> items;
  Result<void> fed;
  Result<ListEnd> end = ListEnd{};
};

// Feeds `text` in two pieces cut at `cut`, or byte by byte when `cut` is npos.
Split split_list(const std::string& text, size_t cut) {
  Split split;
  ItemSplitter splitter([&](std::string_view item) {
    split.items.emplace_back(item);
    return true;
  });
  if (cut == std::string::npos) {
    for (size_t i = 0; i < text.size() && split.fed; ++i) split.fed = splitter.feed({&text[i], 1});
  } else {
    split.fed = splitter.feed(std::string_view(text).substr(0, cut));
    if (split.fed) split.fed = splitter.feed(std::string_view(text).substr(cut));
  }
  if (split.fed) split.end = splitter.finish();
  return split;
}

Split split_list(const std::string& text) { return split_list(text, text.size()); }

bool is_refused(const std::string& text) {
  const Split split = split_list(text);
  return !split.fed || !split.end;
}

const std::string kTricky = R"( { "kind" : "NodeList",
  "items": [ {"name":"a\\","s":"]}\"{["} , {"name":"ü","n":[1,{"x":[]}]},{}, 7 ,"t\"x",null,[[]] ],
  "other":{"items":[{"not":"mine"}],"metadata":{"continue":"wrong"}},
  "metadata":{"continue":"next","resourceVersion":"42"} } )";

}  // namespace

TEST_CASE("a list cut at any byte gives the same items and the same end") {
  const Split whole = split_list(kTricky);
  REQUIRE(whole.fed);
  REQUIRE(whole.end);
  REQUIRE(whole.items.size() == 7);
  CHECK(whole.items[0] == R"({"name":"a\\","s":"]}\"{["})");
  CHECK(whole.items[3] == "7");
  CHECK(whole.items[4] == R"("t\"x")");
  CHECK(whole.items[6] == "[[]]");
  CHECK(whole.end->continue_token == "next");
  CHECK(whole.end->resource_version == "42");
  for (size_t cut = 0; cut <= kTricky.size(); ++cut) {
    CAPTURE(cut);
    const Split pieces = split_list(kTricky, cut);
    REQUIRE(pieces.fed);
    REQUIRE(pieces.end);
    REQUIRE(pieces.items == whole.items);
    REQUIRE(pieces.end->continue_token == "next");
  }
  CHECK(split_list(kTricky, std::string::npos).items == whole.items);
  CHECK_FALSE(is_refused(R"({"items":["line\n",{"tab\t":"x"}]})"));
}

TEST_CASE("metadata stands behind the items for custom resources and in front of them for Nodes") {
  for (const std::string text : {
           R"({"items":[{"a":1}],"metadata":{"continue":"c","resourceVersion":"9"}})",
           R"({"metadata":{"continue":"c","resourceVersion":"9"},"items":[{"a":1}]})",
       }) {
    const Split split = split_list(text);
    REQUIRE(split.end);
    CHECK(split.items == std::vector<std::string>{R"({"a":1})"});
    CHECK(split.end->continue_token == "c");
    CHECK(split.end->resource_version == "9");
  }
}

TEST_CASE("a list that ends early at any byte is an error, never a shorter list") {
  const std::string text = R"({"metadata":{"resourceVersion":"1"},"items":[{"a":"b"},{"a":"c"}]})";
  for (size_t size = 0; size < text.size(); ++size) {
    CAPTURE(size);
    const Split split = split_list(text.substr(0, size));
    CHECK(split.fed);
    REQUIRE_FALSE(split.end);
    CHECK(split.end.error().is_temporary());
  }
}

TEST_CASE("empty lists are lists, also with null for items") {
  for (const std::string text : {
           R"({"metadata":{"resourceVersion":"1"},"items":[]})",
           R"({"items":null,"metadata":{"resourceVersion":"1"}})",
           R"({"items": [ ] ,"metadata":{"resourceVersion":"1"}})",
       }) {
    CAPTURE(text);
    const Split split = split_list(text);
    REQUIRE(split.fed);
    REQUIRE(split.end);
    CHECK(split.items.empty());
    CHECK(split.end->resource_version == "1");
  }
}

TEST_CASE("what is no list is never taken for an empty one") {
  CHECK(is_refused(R"({"kind":"Status","metadata":{},"status":"Failure","code":500})"));
  CHECK(is_refused(R"({"metadata":{"resourceVersion":"1"},"items":{}})"));
  CHECK(is_refused(R"({"metadata":{"resourceVersion":"1"},"items":"none"})"));
  CHECK(is_refused(R"({"metadata":{"resourceVersion":"1"},"items":0})"));
  CHECK(is_refused("{}"));
  CHECK(is_refused("[]"));
  CHECK(is_refused("null"));
  CHECK(is_refused(""));
  CHECK(is_refused("<html>"));
}

TEST_CASE("bytes behind the list and brackets that do not match are errors") {
  CHECK(is_refused(R"({"items":[]}{"items":[]})"));
  CHECK(is_refused(R"({"items":[}})"));
  CHECK(is_refused(R"({"items":[]]})"));
  CHECK(is_refused(R"({"items":[{"a":1}})"));
  CHECK(is_refused(R"({items:[]})"));
  CHECK(is_refused(R"({"items":})"));
  CHECK(is_refused(R"({"items":[],"metadata":{"a":nope}})"));
}

TEST_CASE("an item of 4 MiB ends the reading before memory does") {
  size_t items = 0;
  ItemSplitter splitter([&](std::string_view) { return ++items > 0; });
  REQUIRE(splitter.feed(R"({"items":[{"a":")"));
  const std::string piece(64 << 10, 'x');
  Result<void> fed;
  int pieces = 0;
  while (fed && pieces < 1000) {
    fed = splitter.feed(piece);
    ++pieces;
  }
  REQUIRE_FALSE(fed);
  CHECK(pieces == 64);
  CHECK(fed.error().message.find("4 MiB") != std::string::npos);
  CHECK(items == 0);
}

TEST_CASE("endless white space and an endless key are bounded too") {
  ItemSplitter keys([](std::string_view) { return true; });
  REQUIRE(keys.feed("{\""));
  CHECK_FALSE(keys.feed(std::string(ItemSplitter::kMaxItem + 1, 'k')));
  ItemSplitter spaces([](std::string_view) { return true; });
  REQUIRE(spaces.feed(R"({"items":[{)"));
  CHECK_FALSE(spaces.feed(std::string(ItemSplitter::kMaxItem + 1, ' ')));
}

TEST_CASE("64 levels inside an item pass, 65 do not") {
  const auto nested = [](int levels) {
    const auto count = static_cast<size_t>(levels);
    return R"({"items":[)" + std::string(count, '[') + std::string(count, ']') +
           R"(],"metadata":{}})";
  };
  CHECK_FALSE(is_refused(nested(64)));
  CHECK(is_refused(nested(65)));
}

TEST_CASE("white space inside an item stays, so that [1 2] does not become [12]") {
  const Split split = split_list(R"({"items":[[1 2]]})");
  REQUIRE(split.items.size() == 1);
  CHECK_FALSE(parse(split.items[0]));
}

TEST_CASE("bytes that are no UTF-8 pass the splitter and are refused by the parser") {
  const Split split = split_list("{\"items\":[{\"a\":\"\xff\xfe\"}],\"metadata\":{}}");
  REQUIRE(split.items.size() == 1);
  CHECK_FALSE(parse(split.items[0]));
}

TEST_CASE("a reader that has enough ends the reading at once") {
  int items = 0;
  ItemSplitter splitter([&](std::string_view) { return ++items < 2; });
  const auto fed = splitter.feed(R"({"items":[{},{},{}],"metadata":{}})");
  REQUIRE_FALSE(fed);
  CHECK(fed.error().is_stopped());
  CHECK(items == 2);
}

TEST_CASE("lines of a watch arrive whole whatever the pieces are") {
  const std::string text = "{\"a\":1}\n\n  \n{\"b\":2}\r\n{\"cut\":";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    CAPTURE(cut);
    std::vector<std::string> lines;
    LineSplitter splitter([&](std::string_view line) {
      lines.emplace_back(line);
      return true;
    });
    REQUIRE(splitter.feed(text.substr(0, cut)));
    REQUIRE(splitter.feed(text.substr(cut)));
    REQUIRE(lines.size() == 2);
    CHECK(lines[0] == "{\"a\":1}");
    CHECK(lines[1] == "{\"b\":2}\r");
  }
}

TEST_CASE("a line without an end is bounded") {
  LineSplitter splitter([](std::string_view) { return true; });
  REQUIRE(splitter.feed(std::string(LineSplitter::kMaxLine, 'x')));
  CHECK_FALSE(splitter.feed("x"));
}

TEST_CASE("a reader of lines that has enough ends the reading") {
  LineSplitter splitter([](std::string_view) { return false; });
  const auto fed = splitter.feed("{}\n{}\n");
  REQUIRE_FALSE(fed);
  CHECK(fed.error().is_stopped());
}

}  // namespace nobs::json
