// Where, how and how often metrics are pushed, from the standard OTEL_* variables. Pure; nothing throws.
//
// For main and exporter.h. The program sets its resource attributes first; the environment adds to them and wins.
//
//   otel::Options options{.resource = {{"service.name", "neuron-observer-agent"}, {"k8s.node.name", node}}};
//   for (auto& mistake : otel::apply_environment(options, otel::process_environment())) report(mistake);
//   if (options.is_on()) ...
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/otel/encode.h"
#include "shared/otel/series.h"

namespace nobs::otel {

struct Url {
  bool https = false;
  std::string host;  // IPv6 without brackets; empty: there is no endpoint, nothing is pushed
  int port = 0;
  std::string path = "/";
};

struct Options {
  Url endpoint;
  Protocol protocol = Protocol::Protobuf;
  Attributes headers;  // may be secrets: never logged
  std::chrono::milliseconds interval{60'000};
  std::chrono::milliseconds timeout{10'000};  // of one try
  bool gzip =
      true;  // the specification's default is none; collectors have to take both, and metrics shrink 20-fold
  Temporality temporality = Temporality::Cumulative;
  std::string ca_file, certificate_file,
      key_file;  // empty: the system's authorities, no client certificate
  Attributes resource;
  std::string version;  // of the program: the scope's

  bool is_on() const { return !endpoint.host.empty(); }
};

// The value of a variable; nothing when it is not set. Empty counts as not set, as the specification says.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
Environment process_environment();

// Sets what the variables say. The sentences: what was wrong and what is accepted; such a variable changes nothing.
std::vector<std::string> apply_environment(Options& options, const Environment& environment);

}  // namespace nobs::otel
