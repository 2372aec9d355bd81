// What a collector says in its answer, from bytes that may be anything. Pure.
//
// For outcome.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "shared/otel/encode.h"

namespace nobs::otel {

// ExportMetricsServiceResponse.partial_success; both empty when all was taken, or when the bytes are nonsense.
struct PartialSuccess {
  std::uint64_t rejected = 0;
  std::string message;  // printable, bounded
};
PartialSuccess decode_response(std::string_view body, Protocol protocol);

// google.rpc.Status.message of an error's body; empty where there is none.
std::string decode_status(std::string_view body, Protocol protocol);

}  // namespace nobs::otel
