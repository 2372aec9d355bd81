// SHA-256, so that a secret need not be kept to be recognised.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace nobs::net {

using Digest = std::array<std::uint8_t, 32>;

Digest sha256(std::string_view text);

}  // namespace nobs::net
