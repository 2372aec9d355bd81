// Families of metrics as the bytes of OTLP requests: protobuf or JSON. Pure.
//
// For exporter.cpp, after series.h has given each point its time. Strings are cleaned to valid UTF-8, as protobuf
// demands; empty label values are left out, because Prometheus takes them for absent; points that then look the same
// are sent once. Every number is sent as a double: ours are doubles, and whole ones are exact up to 2^53.
//
//   for (auto& request : encode({.resource = {{"service.name", "neuron-observer-agent"}}}, families)) send(request.body);
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/clock.h"
#include "shared/metrics/family.h"

namespace nobs::otel {

enum class Protocol { Protobuf, Json };  // http/protobuf, http/json

using Attributes = std::vector<std::pair<std::string, std::string>>;

// A family with what OTLP adds to it: when each point began, and whether it counts from there or from the last push.
struct Timed {
  metrics::Family family;
  bool delta = false;
  std::vector<WallTime> starts;  // of each point; for gauges empty
};

struct Frame {
  Protocol protocol = Protocol::Protobuf;
  Attributes resource;
  std::string scope_name = "neuron-observer";
  std::string scope_version;
  WallTime time;
  size_t max_bytes =
      4U << 20;  // of a request, unless one family alone is larger; collectors take 20 MiB
};

struct Request {
  std::string body;
  size_t points = 0;
};

// None when there is no point.
std::vector<Request> encode(const Frame& frame, const std::vector<Timed>& families);

}  // namespace nobs::otel
