#include "shared/otel/encode.h"

#include <bit>
#include <cmath>
#include <numeric>
#include <unordered_set>

#include "shared/base/strings.h"
#include "shared/json/value.h"
#include "shared/otel/proto.h"

namespace nobs::otel {
namespace {

using metrics::Family;
using metrics::Point;
using metrics::Type;

// github.com/open-telemetry/opentelemetry-proto v1: the numbers of the fields we write.
namespace request_fields {  // collector/metrics/v1/metrics_service.proto
constexpr int kResourceMetrics = 1;
}
namespace resource_metrics_fields {  // metrics/v1/metrics.proto, as all below but the last
constexpr int kResource = 1, kScopeMetrics = 2;
}
namespace scope_metrics_fields {
constexpr int kScope = 1, kMetrics = 2;
}
namespace metric_fields {
constexpr int kName = 1, kDescription = 2, kUnit = 3, kGauge = 5, kSum = 7, kHistogram = 9;
}
namespace data_fields {  // of Gauge, Sum, Histogram
constexpr int kDataPoints = 1, kTemporality = 2, kIsMonotonic = 3;
}
namespace point_fields {  // of NumberDataPoint and HistogramDataPoint
constexpr int kStart = 2, kTime = 3, kAsDouble = 4, kAttributes = 7;
constexpr int kCount = 4, kSum = 5, kBucketCounts = 6, kBounds = 7, kHistogramAttributes = 9;
}  // namespace point_fields
namespace common_fields {  // common/v1/common.proto, resource/v1/resource.proto
constexpr int kKey = 1, kValue = 2, kStringValue = 1;
constexpr int kScopeName = 1, kScopeVersion = 2, kResourceAttributes = 1;
}  // namespace common_fields

constexpr int kDelta = 1, kCumulative = 2;  // AggregationTemporality
constexpr size_t kMaxText = 1024;           // of names and descriptions

std::uint64_t nanos(WallTime time) {
  return static_cast<std::uint64_t>(time.time_since_epoch().count());
}

// Label names and values of a point as they are sent.
Attributes attributes_of(const Family& family, const Point& point) {
  Attributes attributes;
  const size_t count = std::min(family.label_names.size(), point.labels.size());
  for (size_t i = 0; i < count; ++i) {
    if (point.labels[i].empty()) continue;
    attributes.emplace_back(family.label_names[i], metrics::label_text(point.labels[i]));
  }
  return attributes;
}

// Bucket counts of the number that the bounds demand.
std::vector<std::uint64_t> buckets_of(const Family& family, const Point& point) {
  auto buckets = point.buckets;
  buckets.resize(family.bounds.size() + 1);
  return buckets;
}

std::uint64_t sum_of(const std::vector<std::uint64_t>& buckets) {
  return std::accumulate(buckets.begin(), buckets.end(), std::uint64_t{0});
}

// ---- protobuf

void put_attributes(proto::Writer& out, int field, const Attributes& attributes) {
  for (const auto& [key, value] : attributes) {
    proto::Writer any;
    any.bytes(common_fields::kStringValue, value);
    proto::Writer pair;
    pair.bytes(common_fields::kKey, key);
    pair.bytes(common_fields::kValue, any.text());
    out.bytes(field, pair.text());
  }
}

struct AsProto {
  static std::string point(const Frame& frame, const Timed& timed, size_t i,
                           const Attributes& attributes) {
    const Family& family = timed.family;
    const Point& point = family.points[i];
    proto::Writer out;
    if (i < timed.starts.size()) out.fixed64(point_fields::kStart, nanos(timed.starts[i]));
    out.fixed64(point_fields::kTime, nanos(frame.time));
    if (family.type != Type::Histogram) {
      out.real(point_fields::kAsDouble, point.value);
      put_attributes(out, point_fields::kAttributes, attributes);
      return out.text();
    }
    const auto buckets = buckets_of(family, point);
    out.fixed64(point_fields::kCount, sum_of(buckets));
    out.real(point_fields::kSum, point.value);
    proto::Writer counts;
    for (const auto count : buckets) counts.packed(count);
    out.bytes(point_fields::kBucketCounts, counts.text());
    proto::Writer bounds;
    for (const double bound : family.bounds) bounds.packed(std::bit_cast<std::uint64_t>(bound));
    if (!family.bounds.empty()) out.bytes(point_fields::kBounds, bounds.text());
    put_attributes(out, point_fields::kHistogramAttributes, attributes);
    return out.text();
  }

  static std::string metric(const Timed& timed, const std::vector<std::string>& points) {
    const Family& family = timed.family;
    proto::Writer data;
    for (const auto& point : points) data.bytes(data_fields::kDataPoints, point);
    if (family.type != Type::Gauge) {
      data.varint(data_fields::kTemporality, timed.delta ? kDelta : kCumulative);
    }
    int kind = metric_fields::kGauge;
    if (family.type == Type::Counter) {
      data.varint(data_fields::kIsMonotonic, 1);
      kind = metric_fields::kSum;
    } else if (family.type == Type::Histogram) {
      kind = metric_fields::kHistogram;
    }
    proto::Writer out;
    out.bytes(metric_fields::kName, utf8(family.name, kMaxText));
    if (!family.help.empty()) out.bytes(metric_fields::kDescription, utf8(family.help, kMaxText));
    if (!family.unit.empty()) out.bytes(metric_fields::kUnit, utf8(family.unit, kMaxText));
    out.bytes(kind, data.text());
    return out.text();
  }

  static std::string request(const Frame& frame, const std::vector<std::string>& metrics) {
    Attributes resource;
    for (const auto& [key, value] : frame.resource) {
      resource.emplace_back(utf8(key, kMaxText), metrics::label_text(value));
    }
    proto::Writer attributes;
    put_attributes(attributes, common_fields::kResourceAttributes, resource);
    proto::Writer scope;
    scope.bytes(common_fields::kScopeName, frame.scope_name);
    if (!frame.scope_version.empty())
      scope.bytes(common_fields::kScopeVersion, frame.scope_version);
    proto::Writer scoped;
    scoped.bytes(scope_metrics_fields::kScope, scope.text());
    for (const auto& metric : metrics) scoped.bytes(scope_metrics_fields::kMetrics, metric);
    proto::Writer all;
    all.bytes(resource_metrics_fields::kResource, attributes.text());
    all.bytes(resource_metrics_fields::kScopeMetrics, scoped.text());
    proto::Writer out;
    out.bytes(request_fields::kResourceMetrics, all.text());
    return out.text();
  }
};

// ---- JSON: proto3's mapping, with 64-bit integers as strings and enumerations as numbers

json::Value real(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

json::Value json_attributes(const Attributes& attributes) {
  json::Value list = json::Array{};
  for (const auto& [key, value] : attributes) {
    list.push_back(json::object({{"key", key}, {"value", json::object({{"stringValue", value}})}}));
  }
  return list;
}

struct AsJson {
  static std::string point(const Frame& frame, const Timed& timed, size_t i,
                           const Attributes& attributes) {
    const Family& family = timed.family;
    const Point& point = family.points[i];
    auto out = json::object({{"timeUnixNano", std::to_string(nanos(frame.time))},
                             {"attributes", json_attributes(attributes)}});
    if (i < timed.starts.size()) {
      out["startTimeUnixNano"] = std::to_string(nanos(timed.starts[i]));
    }
    if (family.type != Type::Histogram) {
      out["asDouble"] = real(point.value);
      return json::dump(out);
    }
    const auto buckets = buckets_of(family, point);
    out["count"] = std::to_string(sum_of(buckets));
    out["sum"] = real(point.value);
    out["bucketCounts"] = json::Array{};
    for (const auto count : buckets) out["bucketCounts"].push_back(std::to_string(count));
    out["explicitBounds"] = json::Array{};
    for (const double bound : family.bounds) out["explicitBounds"].push_back(bound);
    return json::dump(out);
  }

  static std::string metric(const Timed& timed, const std::vector<std::string>& points) {
    const Family& family = timed.family;
    std::string data = R"({"dataPoints":[)" + join(points, ",") + "]";
    if (family.type != Type::Gauge) {
      data += R"(,"aggregationTemporality":)" + std::to_string(timed.delta ? kDelta : kCumulative);
    }
    std::string kind = "gauge";
    if (family.type == Type::Counter) {
      data += R"(,"isMonotonic":true)";
      kind = "sum";
    } else if (family.type == Type::Histogram) {
      kind = "histogram";
    }
    std::string out = R"({"name":)" + json::dump(family.name);
    if (!family.help.empty()) out += R"(,"description":)" + json::dump(family.help);
    if (!family.unit.empty()) out += R"(,"unit":)" + json::dump(family.unit);
    return out + ",\"" + kind + "\":" + data + "}}";
  }

  static std::string request(const Frame& frame, const std::vector<std::string>& metrics) {
    auto scope = json::object({{"name", frame.scope_name}});
    if (!frame.scope_version.empty()) scope["version"] = frame.scope_version;
    const auto resource = json::object({{"attributes", json_attributes(frame.resource)}});
    return R"({"resourceMetrics":[{"resource":)" + json::dump(resource) +
           R"(,"scopeMetrics":[{"scope":)" + json::dump(scope) + R"(,"metrics":[)" +
           join(metrics, ",") + "]}]}]}";
  }
};

template <typename Form>
std::vector<Request> encode_as(const Frame& frame, const std::vector<Timed>& families) {
  std::vector<Request> requests;
  std::vector<std::string> metrics;  // of the request that is being filled
  size_t points = 0;
  size_t bytes = 0;
  const auto finish = [&] {
    if (!metrics.empty()) requests.push_back({Form::request(frame, metrics), points});
    metrics.clear();
    points = bytes = 0;
  };
  for (const auto& timed : families) {
    std::vector<std::string> encoded;
    std::unordered_set<std::string> seen;
    for (size_t i = 0; i < timed.family.points.size(); ++i) {
      const auto attributes = attributes_of(timed.family, timed.family.points[i]);
      std::string key;
      for (const auto& [name, value] : attributes)
        key.append(name).append("=").append(value) += '\0';
      if (!seen.insert(std::move(key)).second) continue;
      encoded.push_back(Form::point(frame, timed, i, attributes));
    }
    if (encoded.empty()) continue;
    auto metric = Form::metric(timed, encoded);
    if (bytes + metric.size() > frame.max_bytes) finish();
    bytes += metric.size();
    points += encoded.size();
    metrics.push_back(std::move(metric));
  }
  finish();
  return requests;
}

}  // namespace

std::vector<Request> encode(const Frame& frame, const std::vector<Timed>& families) {
  return frame.protocol == Protocol::Json ? encode_as<AsJson>(frame, families)
                                          : encode_as<AsProto>(frame, families);
}

}  // namespace nobs::otel
