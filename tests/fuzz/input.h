// What every fuzz target needs: its input as text, and a way to say that a promise was broken.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace nobs::fuzz {

inline std::string_view text_of(const std::uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// libFuzzer keeps the input and reports it.
inline void require(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

}  // namespace nobs::fuzz
