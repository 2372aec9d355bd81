// A list gives the same items and the same end whatever the pieces are. The first byte is the size of a piece.
#include <algorithm>
#include <string>
#include <vector>

#include "shared/json/splitter.h"
#include "tests/fuzz/input.h"

namespace {

using namespace nobs;

struct Outcome {
  std::vector<std::string> documents;
  bool good = false;
  std::string continue_token, resource_version;
  bool operator==(const Outcome&) const = default;
};

template <typename Splitter>
bool feed(Splitter& splitter, std::string_view text, size_t piece) {
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    if (!splitter.feed(text.substr(0, piece))) return false;
  }
  return true;
}

Outcome split_items(std::string_view text, size_t piece) {
  Outcome outcome;
  json::ItemSplitter splitter([&](std::string_view item) {
    outcome.documents.emplace_back(item);
    return outcome.documents.size() < 1000;
  });
  outcome.good = feed(splitter, text, piece);
  if (!outcome.good) return outcome;
  const auto end = splitter.finish();
  outcome.good = static_cast<bool>(end);
  if (end) {
    outcome.continue_token = end->continue_token;
    outcome.resource_version = end->resource_version;
  }
  return outcome;
}

Outcome split_lines(std::string_view text, size_t piece) {
  Outcome outcome;
  json::LineSplitter splitter([&](std::string_view line) {
    outcome.documents.emplace_back(line);
    return outcome.documents.size() < 1000;
  });
  outcome.good = feed(splitter, text, piece);
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t piece = data[0] % 16 + 1;
  const auto text = fuzz::text_of(data + 1, size - 1);
  fuzz::require(split_items(text, text.size()) == split_items(text, piece),
                "the items do not depend on the pieces");
  fuzz::require(split_lines(text, text.size()) == split_lines(text, piece),
                "the lines do not depend on the pieces");
  return 0;
}
