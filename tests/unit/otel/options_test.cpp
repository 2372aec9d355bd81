#include "shared/otel/options.h"

#include <doctest/doctest.h>

#include <map>

namespace nobs::otel {
namespace {

using std::chrono::milliseconds;
using Variables = std::map<std::string, std::string>;

struct Applied {
  Options options;
  std::vector<std::string> mistakes;
};

Applied apply(const Variables& variables, Options options = {}) {
  Applied applied{std::move(options), {}};
  applied.mistakes = apply_environment(
      applied.options, [&](const std::string& name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
      });
  return applied;
}

// The options of variables without a mistake.
Options good(const Variables& variables, Options options = {}) {
  auto applied = apply(variables, std::move(options));
  for (const auto& mistake : applied.mistakes) FAIL_CHECK(mistake);
  return applied.options;
}

// The one mistake of a variable; it names the variable and says what is accepted.
std::string mistake(const std::string& name, const std::string& value) {
  const auto applied = apply({{name, value}});
  CAPTURE(name);
  CAPTURE(value);
  REQUIRE(applied.mistakes.size() == 1);
  CHECK(applied.mistakes[0].starts_with(name + ": "));
  return applied.mistakes[0];
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("without an endpoint nothing is pushed") {
  CHECK_FALSE(good({}).is_on());
  CHECK_FALSE(good({{"OTEL_EXPORTER_OTLP_ENDPOINT", " "}}).is_on());
  CHECK(good({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://a"}}).is_on());
}

TEST_CASE("the general endpoint gets the path of metrics, the one for metrics is used as it is") {
  const auto general = [](const char* url) {
    return good({{"OTEL_EXPORTER_OTLP_ENDPOINT", url}}).endpoint;
  };
  CHECK(general("http://collector:4318").path == "/v1/metrics");
  CHECK(general("http://collector:4318/").path == "/v1/metrics");
  CHECK(general("http://collector:4318/a/b").path == "/a/b/v1/metrics");
  const auto own = good({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://other:1"},
                         {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "https://collector/push?x=1"}})
                       .endpoint;
  CHECK(own.https);
  CHECK(own.host == "collector");
  CHECK(own.port == 443);
  CHECK(own.path == "/push?x=1");
  CHECK(good({{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "HTTP://collector"}}).endpoint.path == "/");
}

TEST_CASE("an endpoint may be an IPv6 address") {
  const auto url = good({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://[fd00:ec2::1]:4318"}}).endpoint;
  CHECK(url.host == "fd00:ec2::1");
  CHECK(url.port == 4318);
  CHECK(good({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://[::1]/p"}}).endpoint.port == 80);
}

TEST_CASE("an endpoint that cannot work is a mistake, and a password in it is not repeated") {
  const std::string name = "OTEL_EXPORTER_OTLP_ENDPOINT";
  for (const char* wrong :
       {"collector:4318", "grpc://collector:4317", "unix:///x", "http://", "http://:4318",
        "http://a:0", "http://a:65536", "http://a:b", "http://[::1", "http://[1.2.3.4]",
        "http://[::1]4318", "http://a b", "http://a/\nb", "http://a/#f"}) {
    CHECK(has(mistake(name, wrong), "wanted like http://127.0.0.1:4318"));
    CHECK_FALSE(apply({{name, wrong}}).options.is_on());
  }
  for (const char* secret : {"http://user:hunter2@collector:4318", "user:hunter2@collector"}) {
    CHECK_FALSE(has(mistake(name, secret), "hunter2"));
  }
  CHECK(has(mistake(name, "https://user@collector"), "use a header"));
}

TEST_CASE("gRPC is refused with what is accepted") {
  CHECK(mistake("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc") ==
        "OTEL_EXPORTER_OTLP_PROTOCOL: \"grpc\" is not accepted (gRPC is not spoken); accepted: "
        "http/protobuf, http/json");
  CHECK(good({}).protocol == Protocol::Protobuf);
  CHECK(good({{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"}}).protocol == Protocol::Json);
  CHECK(good({{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"},
              {"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "http/protobuf"}})
            .protocol == Protocol::Protobuf);
}

TEST_CASE("words choose, in any case, and a wrong word lists the right ones") {
  CHECK(good({}).gzip);
  CHECK_FALSE(good({{"OTEL_EXPORTER_OTLP_COMPRESSION", "none"}}).gzip);
  CHECK(good({{"OTEL_EXPORTER_OTLP_COMPRESSION", "none"},
              {"OTEL_EXPORTER_OTLP_METRICS_COMPRESSION", "gzip"}})
            .gzip);
  CHECK(has(mistake("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"), "accepted: gzip, none"));
  const std::string name = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE";
  CHECK(good({}).temporality == Temporality::Cumulative);
  CHECK(good({{name, "Delta"}}).temporality == Temporality::Delta);
  CHECK(good({{name, "LOWMEMORY"}}).temporality == Temporality::LowMemory);
  CHECK(has(mistake(name, "both"), "accepted: cumulative, delta, lowmemory"));
}

TEST_CASE("times are milliseconds, and no try is longer than the shorter of the two limits") {
  CHECK(good({}).interval == milliseconds(60'000));
  CHECK(good({}).timeout == milliseconds(10'000));
  CHECK(good({{"OTEL_METRIC_EXPORT_INTERVAL", "1500"}}).interval == milliseconds(1'500));
  CHECK(good({{"OTEL_EXPORTER_OTLP_TIMEOUT", "20000"}}).timeout == milliseconds(20'000));
  CHECK(good({{"OTEL_EXPORTER_OTLP_TIMEOUT", "5"}, {"OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "7"}})
            .timeout == milliseconds(7));
  CHECK(good({{"OTEL_METRIC_EXPORT_TIMEOUT", "3000"}}).timeout == milliseconds(3'000));
  CHECK(good({{"OTEL_METRIC_EXPORT_TIMEOUT", "30000"}}).timeout == milliseconds(10'000));
  for (const char* name : {"OTEL_METRIC_EXPORT_INTERVAL", "OTEL_METRIC_EXPORT_TIMEOUT",
                           "OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT"}) {
    for (const char* wrong : {"0", "-1", "10s", "1.5", "86400001", "99999999999999999999"}) {
      CHECK(has(mistake(name, wrong), "whole milliseconds from 1"));
    }
  }
}

TEST_CASE("headers are percent-decoded pairs; what cannot be sent is a mistake without its value") {
  const std::string name = "OTEL_EXPORTER_OTLP_HEADERS";
  const auto headers = good({{name, " Authorization = Bearer%20a%3Db , x-scope=t=1,, "}}).headers;
  CHECK(headers == Attributes{{"Authorization", "Bearer a=b"}, {"x-scope", "t=1"}});
  CHECK(good({{name, "a=general"}, {"OTEL_EXPORTER_OTLP_METRICS_HEADERS", "a=own"}}).headers ==
        Attributes{{"a", "own"}});
  for (const char* wrong :
       {"hunter2", "a=hunter2%0d%0ax: y", "a=hunter2%2", "a=hunter2%zz", "=hunter2", "a b=hunter2",
        "Host=hunter2", "content-length=hunter2", "a=hunter2%00"}) {
    const auto said = mistake(name, wrong);
    CHECK(has(said, "accepted: "));
    CHECK_FALSE(has(said, "hunter2"));
    CHECK(apply({{name, wrong}}).options.headers.empty());
  }
}

TEST_CASE("resource attributes add to the program's and win, the service name wins over both") {
  const Options program{.resource = {{"service.name", "agent"}, {"k8s.node.name", "n1"}}};
  CHECK(good({{"OTEL_RESOURCE_ATTRIBUTES", "service.name=x,team=a%2Cb"}}, program).resource ==
        Attributes{{"service.name", "x"}, {"k8s.node.name", "n1"}, {"team", "a,b"}});
  CHECK(good({{"OTEL_RESOURCE_ATTRIBUTES", "service.name=x"}, {"OTEL_SERVICE_NAME", "y"}}, program)
            .resource[0]
            .second == "y");
  CHECK(has(mistake("OTEL_RESOURCE_ATTRIBUTES", "a"), "key=value"));
}

TEST_CASE("certificates are files, those for metrics first; a certificate needs its key") {
  auto options = good({{"OTEL_EXPORTER_OTLP_CERTIFICATE", "/ca"},
                       {"OTEL_EXPORTER_OTLP_METRICS_CERTIFICATE", "/own-ca"},
                       {"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "/crt"},
                       {"OTEL_EXPORTER_OTLP_CLIENT_KEY", "/key"}});
  CHECK(options.ca_file == "/own-ca");
  CHECK(options.certificate_file == "/crt");
  CHECK(options.key_file == "/key");
  CHECK(has(mistake("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "/crt"), "together"));
  CHECK(has(mistake("OTEL_EXPORTER_OTLP_CLIENT_KEY", "/key"), "together"));
}

TEST_CASE("pushing can be turned off, endpoint or not") {
  const std::string endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT";
  CHECK(good({{endpoint, "http://a"}, {"OTEL_METRICS_EXPORTER", "otlp"}}).is_on());
  CHECK_FALSE(good({{endpoint, "http://a"}, {"OTEL_METRICS_EXPORTER", "none"}}).is_on());
  CHECK_FALSE(good({{endpoint, "http://a"}, {"OTEL_SDK_DISABLED", "true"}}).is_on());
  CHECK(good({{endpoint, "http://a"}, {"OTEL_SDK_DISABLED", "false"}}).is_on());
  CHECK(has(mistake("OTEL_METRICS_EXPORTER", "console"), "accepted: otlp, none"));
  CHECK(has(mistake("OTEL_SDK_DISABLED", "yes"), "accepted: true, false"));
}

TEST_CASE("all mistakes are told at once") {
  CHECK(apply({{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"},
               {"OTEL_EXPORTER_OTLP_ENDPOINT", "x"},
               {"OTEL_METRIC_EXPORT_INTERVAL", "0"}})
            .mistakes.size() == 3);
}

}  // namespace
}  // namespace nobs::otel
