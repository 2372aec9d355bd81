// gzip of a request's body (RFC 1952). Pure.
#pragma once

#include <string>
#include <string_view>

namespace nobs::otel {

// Empty when zlib refuses, which only a lack of memory can cause.
std::string gzip(std::string_view text);

}  // namespace nobs::otel
