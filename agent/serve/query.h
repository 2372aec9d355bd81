// The query of a request target, checked against what a route accepts. Pure.
//
// For api.cpp. Strict: an unknown, repeated or malformed parameter is an error that says what is accepted.
//
//   auto query = Query::parse("device=3&since=17", {"device", "since"});
//   auto device = query->number("device", 0, 255);   // Result<std::optional<std::uint64_t>>
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.h"

namespace nobs::serve {

class Query {
 public:
  static Result<Query> parse(std::string_view text, const std::vector<std::string_view>& accepted);

  Result<std::optional<std::uint64_t>> number(std::string_view name, std::uint64_t minimum,
                                              std::uint64_t maximum) const;
  const std::string* text(std::string_view name) const;  // null: not given

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

// Digits without sign, space or leading zero, within the bounds.
std::optional<std::uint64_t> plain_number(std::string_view text, std::uint64_t minimum,
                                          std::uint64_t maximum);

}  // namespace nobs::serve
