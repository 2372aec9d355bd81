// requests.json, replayed in order: against the embedded API, or against the real one named by NOBS_KUBECONFIG (then the
// kubeconfig of `nobody` is expected beside it). A difference is a bug of the embedded one.
//
// A step: says, method, path, type (content type), accept, as (admin), body; code; has (JSON pointer → value, "*": any
// value that is not null, "~x": x is part of the text, or of the JSON; a list of such: all of them), lacks (pointers to null or nothing), keep (name → pointer, for
// ${name} in later steps), header (name → part of its value), lines (of a watch: one `has` each, in order).
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "shared/base/file.h"
#include "shared/base/strings.h"
#include "shared/json/value.h"
#include "shared/kube/config.h"
#include "shared/net/client.h"
#include "tests/sim/api/api_server.h"

namespace nobs::sim {
namespace {

using json::Value;
using namespace std::chrono_literals;
using Kept = std::map<std::string, std::string>;

const Value& at_pointer(const Value& value, std::string_view pointer) {
  static const Value kNull;
  const Value* at = &value;
  for (const auto token : split(pointer.substr(std::min<size_t>(1, pointer.size())), '/')) {
    std::string name(token);
    for (size_t i; (i = name.find("~1")) != std::string::npos;) name.replace(i, 2, "/");
    if (pointer.empty()) break;
    const auto index = parse_u64(name);
    if (at->is_array()) {
      if (!index || *index >= at->items().size()) return kNull;
      at = &at->items()[*index];
    } else {
      at = &(*at)[name];
    }
  }
  return *at;
}

std::string fill_in(std::string text, const Kept& kept) {
  for (const auto& [name, value] : kept) {
    const std::string mark = "${" + name + "}";
    for (size_t i; (i = text.find(mark)) != std::string::npos;) text.replace(i, mark.size(), value);
  }
  return text;
}

bool contains(const Value& found, std::string_view part) {
  return found.string_or(json::dump(found)).find(part) != std::string::npos;
}

void check_member(const Value& found, const Value& wanted, const Kept& kept) {
  const std::string text = fill_in(wanted.string_or(""), kept);
  CAPTURE(json::dump(found));
  if (text == "*") {
    CHECK_FALSE(found.is_null());
  } else if (!text.empty() && text[0] == '~') {
    CHECK(contains(found, std::string_view(text).substr(1)));
  } else if (wanted.is_string()) {
    CHECK(found == Value(text));
  } else {
    CHECK(json::dump(found) == json::dump(wanted));
  }
}

void check_members(const Value& actual, const Value& wanted, const Kept& kept) {
  for (const auto& [pointer, value] : wanted.members()) {
    CAPTURE(pointer);
    const Value& found = at_pointer(actual, pointer);
    const bool several = value.is_array() && value.items()[0].string_or("")[0] == '~';
    if (!several) check_member(found, value, kept);
    for (const auto& part : several ? value.items() : json::Array())
      check_member(found, part, kept);
  }
}

net::Response send(const kube::Config& config, const Value& step, const Kept& kept) {
  net::Client client(config.endpoint);
  net::Request request{.method = step["method"].string_or("GET"),
                       .target = fill_in(step["path"].string_or(""), kept)};
  if (!config.token.empty()) request.headers.set("Authorization", "Bearer " + config.token);
  request.headers.set("Accept", step["accept"].string_or("application/json"));
  if (step.contains("body")) {
    const auto* text = step["body"].if_string();
    request.body = fill_in(text ? *text : json::dump(step["body"]), kept);
    request.headers.set("Content-Type", step["type"].string_or("application/json"));
  }
  const auto answer = client.send(request, {}, {});
  REQUIRE_MESSAGE(answer, (answer ? "" : answer.error().message));
  return *answer;
}

void check_step(const kube::Config& config, const Value& step, Kept& kept) {
  CAPTURE(step["says"].string_or(""));
  const auto answer = send(config, step, kept);
  CAPTURE(answer.body);
  CHECK(answer.status == step["code"].int_or(200));
  for (const auto& [name, part] : step["header"].members()) {
    const auto* value = answer.headers.find(name);
    CHECK_MESSAGE((value && value->find(part.string_or("")) != std::string::npos), name);
  }
  if (step.contains("text")) CHECK(answer.body == step["text"].string_or(""));
  if (step.contains("lines")) {
    const auto lines = split(answer.body, '\n');
    const auto& wanted = step["lines"].items();
    CHECK(lines.size() > wanted.size());
    if (lines.size() <= wanted.size()) return;
    for (size_t i = 0; i < wanted.size(); ++i) {
      const auto line = json::parse(lines[i]);
      REQUIRE(line);
      check_members(*line, wanted[i], kept);
    }
    return;
  }
  const auto body = json::parse(answer.body);
  const Value value = body ? *body : Value();
  check_members(value, step["has"], kept);
  for (const auto& pointer : step["lacks"].items()) {
    CAPTURE(pointer.string_or(""));
    const Value& found = at_pointer(value, pointer.string_or(""));
    CHECK_MESSAGE(found.is_null(), json::dump(found));
  }
  for (const auto& [name, pointer] : step["keep"].members())
    kept[name] = at_pointer(value, pointer.string_or("")).string_or("");
}

kube::Config config_of(const std::string& text, const std::string& directory) {
  auto config = kube::parse_kubeconfig(text, directory, "");
  REQUIRE_MESSAGE(config, (config ? "" : config.error().message));
  return *config;
}

TEST_CASE("every request of requests.json is answered as the real API server answers it") {
  const std::string root = NOBS_SOURCE_DIR;
  const auto text = read_file(root + "/tests/unit/sim/api/requests.json", 4U << 20);
  REQUIRE(text);
  const auto steps = json::parse(*text);
  REQUIRE_MESSAGE(steps, (steps ? "" : steps.error().message));

  ApiServer server({.crd_directory = root + "/crds"});
  std::map<std::string, kube::Config> people;
  if (const char* path = std::getenv("NOBS_KUBECONFIG"); path) {
    const auto directory = std::filesystem::path(path).parent_path().string();
    for (const auto* name : {"admin", "nobody"}) {
      const auto file = read_file(directory + "/" + name + ".kubeconfig", 1U << 20);
      REQUIRE(file);
      people[name] = config_of(*file, directory);
    }
  } else {
    const auto started = server.start();
    REQUIRE_MESSAGE(started, (started ? "" : started.error().message));
    for (const auto* name : {"admin", "nobody"})
      people[name] = config_of(server.kubeconfig(name), "");
  }
  people["anonymous"] = people["admin"];
  people["anonymous"].token.clear();
  people["stranger"] = people["admin"];
  people["stranger"].token = "wrong";

  Kept kept;
  REQUIRE(steps->items().size() > 100);
  for (const auto& step : steps->items())
    check_step(people.at(step["as"].string_or("admin")), step, kept);
}

}  // namespace
}  // namespace nobs::sim
