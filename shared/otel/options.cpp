#include "shared/otel/options.h"

#include <algorithm>
#include <cstdlib>

#include "shared/base/strings.h"

namespace nobs::otel {
namespace {

constexpr std::string_view kHostCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
constexpr std::string_view kAddressCharacters = "0123456789abcdefABCDEF:.";
constexpr std::string_view kPathCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,;=:@/%?";
constexpr std::string_view kTokenCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~";
constexpr std::uint64_t kMaxMilliseconds = 24ULL * 3600 * 1000;

bool only(std::string_view text, std::string_view accepted) {
  return text.find_first_not_of(accepted) == std::string_view::npos;
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    constexpr std::string_view kHex = "0123456789abcdef";
    const std::string digits = lower(text.substr(i + 1, 2));
    if (digits.size() < 2 || !only(digits, kHex)) return std::nullopt;
    out += static_cast<char>(kHex.find(digits[0]) << 4 | kHex.find(digits[1]));
    i += 2;
  }
  return out;
}

// Nothing: why not is in `wrong`. Neither quotes the text when it holds a password.
std::optional<Url> parse_url(std::string_view text, std::string& wrong) {
  wrong = "\"" + printable(text, 200) +
          "\" is not accepted; wanted like http://127.0.0.1:4318 or https://[fd00::1]:4318/path";
  Url url;
  if (lower(text.substr(0, 8)) == "https://") {
    url.https = true;
    text.remove_prefix(8);
  } else if (lower(text.substr(0, 7)) == "http://") {
    text.remove_prefix(7);
  } else {
    if (text.find('@') != std::string_view::npos) wrong = "must begin with http:// or https://";
    return std::nullopt;
  }
  const size_t slash = std::min(text.find_first_of("/?"), text.size());
  std::string_view authority = text.substr(0, slash);
  url.path = text.substr(slash);
  if (authority.find('@') != std::string_view::npos) {
    wrong = "has a user or password in it, which would appear in logs; use a header instead";
    return std::nullopt;
  }
  if (!only(url.path, kPathCharacters)) return std::nullopt;
  if (!url.path.starts_with('/')) url.path.insert(0, "/");
  size_t host_end = std::min(authority.find(':'), authority.size());
  if (authority.starts_with('[')) {
    const size_t bracket = authority.find(']');
    if (bracket == std::string_view::npos) return std::nullopt;
    url.host = authority.substr(1, bracket - 1);
    if (url.host.find(':') == std::string::npos || !only(url.host, kAddressCharacters)) {
      return std::nullopt;
    }
    host_end = bracket + 1;
  } else {
    url.host = authority.substr(0, host_end);
  }
  if (url.host.empty() || (host_end == url.host.size() && !only(url.host, kHostCharacters))) {
    return std::nullopt;
  }
  authority.remove_prefix(host_end);
  url.port = url.https ? 443 : 80;
  if (authority.empty()) return url;
  const auto port = authority[0] == ':' ? parse_u64(authority.substr(1)) : std::nullopt;
  if (!port || *port == 0 || *port > 65535) return std::nullopt;
  url.port = static_cast<int>(*port);
  return url;
}

struct Reader {
  const Environment& environment;
  std::vector<std::string> mistakes;

  // The variable for metrics alone wins over the one for all signals. `used` is the name that is set.
  std::optional<std::string> get(const std::string& name, const std::string& other,
                                 std::string& used) const {
    for (const auto& candidate : {name, other}) {
      if (candidate.empty()) continue;
      auto value = environment(candidate);
      if (!value || trim(*value).empty()) continue;
      used = candidate;
      return std::string(trim(*value));
    }
    return std::nullopt;
  }

  void mistake(const std::string& name, const std::string& what) {
    mistakes.push_back(name + ": " + what);
  }

  template <typename Value>
  void choice(Value& target, const std::string& name, const std::string& other,
              const std::vector<std::pair<std::string, Value>>& accepted,
              const std::string& hint = {}) {
    std::string used;
    const auto text = get(name, other, used);
    if (!text) return;
    std::string words;
    for (const auto& [word, value] : accepted) {
      if (lower(*text) == word) {
        target = value;
        return;
      }
      words += (words.empty() ? "" : ", ") + word;
    }
    mistake(used,
            "\"" + printable(*text, 100) + "\" is not accepted" + hint + "; accepted: " + words);
  }

  void milliseconds(std::chrono::milliseconds& target, const std::string& name,
                    const std::string& other = {}) {
    std::string used;
    const auto text = get(name, other, used);
    if (!text) return;
    const auto number = parse_u64(*text);
    if (!number || *number == 0 || *number > kMaxMilliseconds) {
      mistake(used, "\"" + printable(*text, 100) +
                        "\" is not accepted; accepted: whole milliseconds from 1 to 86400000");
      return;
    }
    target = std::chrono::milliseconds(*number);
  }

  // key=value,key=value, percent-encoded. Messages count the pairs and never quote them: headers are secrets.
  std::optional<Attributes> pairs(const std::string& name, const std::string& other, bool headers) {
    std::string used;
    const auto text = get(name, other, used);
    if (!text) return std::nullopt;
    Attributes list;
    int number = 0;
    for (const auto piece : split(*text, ',')) {
      ++number;
      if (trim(piece).empty()) continue;
      const size_t equals = piece.find('=');
      const auto key = percent_decode(trim(piece.substr(0, equals)));
      const auto value = equals == std::string_view::npos
                             ? std::nullopt
                             : percent_decode(trim(piece.substr(equals + 1)));
      if (!key || key->empty() || !value) {
        mistake(used, "pair " + std::to_string(number) +
                          " is not accepted; accepted: key=value,key=value with "
                          "percent-encoded values");
        return std::nullopt;
      }
      if (headers && !is_header(*key, *value)) {
        mistake(used, "pair " + std::to_string(number) +
                          " is no header that can be set; accepted: a header's name and a value "
                          "without line breaks, not Host, Connection, Content-* or "
                          "Transfer-Encoding");
        return std::nullopt;
      }
      list.emplace_back(*key, *value);
    }
    return list;
  }

  static bool is_header(const std::string& key, const std::string& value) {
    const std::string name = lower(key);
    const bool ours = name == "host" || name == "connection" || name == "transfer-encoding" ||
                      name.starts_with("content-");
    const bool printable_value = std::all_of(value.begin(), value.end(), [](char c) {
      return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
    });
    return !ours && only(key, kTokenCharacters) && printable_value;
  }

  void endpoint(Options& options) {
    std::string used;
    const std::string own = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT";
    const auto text = get(own, "OTEL_EXPORTER_OTLP_ENDPOINT", used);
    if (!text) return;
    std::string wrong;
    auto url = parse_url(*text, wrong);
    if (!url) {
      mistake(used, wrong);
      return;
    }
    if (used != own) {  // the general one is a base; the one for metrics is used as it is
      if (!url->path.ends_with('/')) url->path += '/';
      url->path += "v1/metrics";
    }
    options.endpoint = std::move(*url);
  }

  void text(std::string& target, const std::string& name, const std::string& other) {
    std::string used;
    if (auto value = get(name, other, used)) target = std::move(*value);
  }
};

void set(Attributes& attributes, const std::string& key, std::string value) {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const auto& entry) { return entry.first == key; });
  if (found == attributes.end()) {
    attributes.emplace_back(key, std::move(value));
  } else {
    found->second = std::move(value);
  }
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): nobody sets it
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

std::vector<std::string> apply_environment(Options& options, const Environment& environment) {
  Reader read{environment, {}};
  const std::string all = "OTEL_EXPORTER_OTLP_";
  const std::string own = "OTEL_EXPORTER_OTLP_METRICS_";
  read.endpoint(options);
  read.choice<Protocol>(options.protocol, own + "PROTOCOL", all + "PROTOCOL",
                        {{"http/protobuf", Protocol::Protobuf}, {"http/json", Protocol::Json}},
                        " (gRPC is not spoken)");
  read.choice<bool>(options.gzip, own + "COMPRESSION", all + "COMPRESSION",
                    {{"gzip", true}, {"none", false}});
  read.choice<Temporality>(options.temporality, own + "TEMPORALITY_PREFERENCE", "",
                           {{"cumulative", Temporality::Cumulative},
                            {"delta", Temporality::Delta},
                            {"lowmemory", Temporality::LowMemory}});
  read.milliseconds(options.timeout, own + "TIMEOUT", all + "TIMEOUT");
  read.milliseconds(options.interval, "OTEL_METRIC_EXPORT_INTERVAL");
  std::chrono::milliseconds whole = options.timeout;
  read.milliseconds(whole, "OTEL_METRIC_EXPORT_TIMEOUT");
  options.timeout = std::min(options.timeout, whole);
  read.text(options.ca_file, own + "CERTIFICATE", all + "CERTIFICATE");
  read.text(options.certificate_file, own + "CLIENT_CERTIFICATE", all + "CLIENT_CERTIFICATE");
  read.text(options.key_file, own + "CLIENT_KEY", all + "CLIENT_KEY");
  if (options.certificate_file.empty() != options.key_file.empty()) {
    read.mistake(options.key_file.empty() ? all + "CLIENT_CERTIFICATE" : all + "CLIENT_KEY",
                 "a client certificate and its key are only accepted together");
    options.certificate_file.clear();
    options.key_file.clear();
  }
  if (auto headers = read.pairs(own + "HEADERS", all + "HEADERS", true)) {
    for (auto& [key, value] : *headers) set(options.headers, key, std::move(value));
  }
  if (auto resource = read.pairs("OTEL_RESOURCE_ATTRIBUTES", "", false)) {
    for (auto& [key, value] : *resource) set(options.resource, key, std::move(value));
  }
  std::string service;
  read.text(service, "OTEL_SERVICE_NAME", "");
  if (!service.empty()) set(options.resource, "service.name", service);

  bool wanted = true;
  read.choice<bool>(wanted, "OTEL_METRICS_EXPORTER", "", {{"otlp", true}, {"none", false}},
                    " (Prometheus scrapes /metrics anyway)");
  bool disabled = false;
  read.choice<bool>(disabled, "OTEL_SDK_DISABLED", "", {{"true", true}, {"false", false}});
  if (!wanted || disabled) options.endpoint = {};
  return std::move(read.mistakes);
}

}  // namespace nobs::otel
