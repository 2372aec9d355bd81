#include "shared/otel/decode.h"

#include "shared/base/strings.h"
#include "shared/json/value.h"
#include "shared/otel/proto.h"

namespace nobs::otel {
namespace {

constexpr size_t kMaxMessage = 300;

// opentelemetry-proto, collector/metrics/v1/metrics_service.proto; googleapis, google/rpc/status.proto.
constexpr std::uint64_t kPartialSuccess = 1, kRejectedDataPoints = 1, kErrorMessage = 2;
constexpr std::uint64_t kStatusMessage = 2;

std::uint64_t count_of(const json::Value& value) {
  if (const auto* text = value.if_string()) return parse_u64(*text).value_or(0);
  const auto number = value.int_or(0);
  return number > 0 ? static_cast<std::uint64_t>(number) : 0;
}

PartialSuccess decode_partial(std::string_view bytes) {
  PartialSuccess partial;
  proto::Reader fields(bytes);
  while (const auto field = fields.next()) {
    if (field->number == kRejectedDataPoints && field->is_varint) {
      const bool negative = field->value >> 63 != 0;  // the field is an int64
      partial.rejected = negative ? 0 : field->value;
    } else if (field->number == kErrorMessage && !field->is_varint) {
      partial.message = printable(field->bytes, kMaxMessage);
    }
  }
  return partial;
}

}  // namespace

PartialSuccess decode_response(std::string_view body, Protocol protocol) {
  if (protocol == Protocol::Json) {
    const auto answer = json::parse(body);
    if (!answer) return {};
    const auto& partial = (*answer)["partialSuccess"];
    return {count_of(partial["rejectedDataPoints"]),
            printable(partial["errorMessage"].string_or(""), kMaxMessage)};
  }
  PartialSuccess partial;
  proto::Reader fields(body);
  while (const auto field = fields.next()) {
    if (field->number == kPartialSuccess && !field->is_varint)
      partial = decode_partial(field->bytes);
  }
  return partial;
}

std::string decode_status(std::string_view body, Protocol protocol) {
  std::string message;
  if (protocol == Protocol::Json) {
    if (const auto status = json::parse(body)) message = (*status)["message"].string_or("");
    return printable(message, kMaxMessage);
  }
  proto::Reader fields(body);
  while (const auto field = fields.next()) {
    if (field->number == kStatusMessage && !field->is_varint) message = field->bytes;
  }
  return printable(message, kMaxMessage);
}

}  // namespace nobs::otel
