#include <doctest/doctest.h>

#include <string>

#include "shared/kube/client.h"
#include "shared/kube/paths.h"

namespace nobs::kube {
namespace {

using namespace std::chrono_literals;

constexpr ResourceType kNodes{.group = "", .version = "v1", .plural = "nodes", .kind = "Node"};
constexpr ResourceType kPods{"", "v1", "pods", "Pod", true};
constexpr ResourceType kDevices{"neuronobserver.io", "v1alpha1", "neurondevices", "NeuronDevice"};

Error error_of(int http_status, const std::string& body) {
  return error_from_status(http_status, body, nullptr);
}

std::string status(const std::string& reason, const std::string& message, int code,
                   const std::string& details = "{}") {
  return R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":")" +
         message + R"(","reason":")" + reason + R"(","details":)" + details + R"(,"code":)" +
         std::to_string(code) + "}\n";
}

}  // namespace

TEST_CASE("paths are those of the API, encoded") {
  CHECK(resource_path(kNodes, "", "", "") == "/api/v1/nodes");
  CHECK(resource_path(kNodes, "ignored", "a", "status") == "/api/v1/nodes/a/status");
  CHECK(resource_path(kPods, "team", "p", "") == "/api/v1/namespaces/team/pods/p");
  CHECK(resource_path(kPods, "", "", "") == "/api/v1/pods");
  CHECK(resource_path(kDevices, "", "a-neuron0", "status") ==
        "/apis/neuronobserver.io/v1alpha1/neurondevices/a-neuron0/status");
  CHECK(resource_path(kNodes, "", "a b/c?d", "") == "/api/v1/nodes/a%20b%2Fc%3Fd");
}

TEST_CASE("names that would reach another path are refused") {
  CHECK(check_name("nodes", "ip-10-0-0-1.eu-west-1.compute.internal"));
  CHECK(check_name("roles", "system:node"));
  for (const auto* wrong : {"", ".", "..", "a/b", "a%2fb"}) CHECK_FALSE(check_name("nodes", wrong));
}

TEST_CASE("queries hold what was asked and nothing empty") {
  CHECK(query_text({}) == "");
  CHECK(query_text(list_query({})) == "?limit=500");
  CHECK(query_text(list_query({.field_selector = "spec.nodeName=a,status.phase!=Failed",
                               .label_selector = "k in (a,b)",
                               .limit = 0,
                               .continue_token = "x=/"})) ==
        "?fieldSelector=spec.nodeName%3Da%2Cstatus.phase%21%3DFailed&labelSelector=k%20in%20%28a%"
        "2Cb%29"
        "&continue=x%3D%2F");
  CHECK(query_text(watch_query({.resource_version = "41", .timeout = 60s})) ==
        "?watch=1&allowWatchBookmarks=true&resourceVersion=41&timeoutSeconds=60");
  CHECK(query_text(watch_query({.initial_events = true, .timeout = 60s})) ==
        "?watch=1&allowWatchBookmarks=true&timeoutSeconds=60&sendInitialEvents=true"
        "&resourceVersionMatch=NotOlderThan");
}

TEST_CASE("a status becomes the error a caller acts on") {
  CHECK(error_of(400, status("BadRequest", "x", 400)).code == ErrorCode::Rejected);
  CHECK(error_of(401, status("Unauthorized", "Unauthorized", 401)).code == ErrorCode::Unauthorized);
  CHECK(error_of(403, status("Forbidden", "x", 403)).code == ErrorCode::Forbidden);
  CHECK(error_of(404, status("NotFound", "nodes \\\"x\\\" not found", 404)).is_not_found());
  CHECK(error_of(409, status("Conflict", "x", 409)).is_conflict());
  CHECK(error_of(409, status("AlreadyExists", "x", 409)).is_exists());
  CHECK(error_of(410, status("Expired", "x", 410)).is_gone());
  CHECK(error_of(410, "").is_gone());
  CHECK(error_of(400, status("Expired", "x", 400)).is_gone());
  CHECK(error_of(413, "").code == ErrorCode::Rejected);
  CHECK(error_of(415, status("UnsupportedMediaType", "x", 415)).code == ErrorCode::Rejected);
  CHECK(error_of(429, "Too many requests, please try again later.\n").code == ErrorCode::TooMany);
  CHECK(error_of(500, status("InternalError", "x", 500)).code == ErrorCode::Server);
  CHECK(error_of(503, "").code == ErrorCode::Server);
  CHECK(error_of(504, status("Timeout", "x", 504)).code == ErrorCode::Timeout);
  CHECK(error_of(302, "").code == ErrorCode::Rejected);
  CHECK(error_of(503, "").is_temporary());
  CHECK_FALSE(error_of(422, status("Invalid", "x", 422)).is_temporary());
}

TEST_CASE(
    "a JSON patch that could not be applied is a conflict, an object that is invalid is not") {
  CHECK(error_of(422, status("Invalid",
                             "the server rejected our request due to an error in our request", 422))
            .is_conflict());
  CHECK(error_of(422, status("Invalid", "testing value /spec/taints failed: test failed", 422))
            .is_conflict());
  const std::string cause =
      R"({"causes":[{"reason":"FieldValueInvalid","message":"m","field":"spec"}]})";
  CHECK(error_of(422,
                 status("Invalid", "the server rejected our request due to an error in our request",
                        422, cause))
            .code == ErrorCode::Rejected);
  CHECK(error_of(422, status("Invalid", "denied by the policy", 422)).code == ErrorCode::Rejected);
}

TEST_CASE("the message is the server's, bounded and printable, and names the HTTP status") {
  const Error error = error_of(404, status("NotFound", "nodes \\\"x\\\" not found", 404));
  CHECK(error.message == "HTTP 404: nodes \"x\" not found");
  CHECK(error.http_status == 404);
  CHECK(error_of(404, "404 page not found\n").message == "HTTP 404: 404 page not found");
  CHECK(error_of(500, std::string(100'000, 'x')).message.size() < 1'100);
  CHECK(error_of(500, "\x1b[31m").message == "HTTP 500: \\x1b[31m");
  CHECK(error_of(500, "[]").message == "HTTP 500: []");
  CHECK(error_of(500, R"({"message":7,"code":"x","details":[]})").code == ErrorCode::Server);
}

TEST_CASE(
    "Retry-After comes from the header, else from the body, and is never more than five minutes") {
  const std::string busy = status("TooManyRequests", "x", 429, R"({"retryAfterSeconds":7})");
  const std::string two = "2";
  const std::string date = "Wed, 21 Oct 2026 07:28:00 GMT";
  const std::string years = "99999999999";
  CHECK(error_from_status(429, busy, &two).retry_after == 2s);
  CHECK(error_from_status(429, busy, nullptr).retry_after == 7s);
  CHECK(error_from_status(429, busy, &date).retry_after == 7s);
  CHECK(error_from_status(429, "", &years).retry_after == 300s);
  CHECK_FALSE(error_from_status(429, "", nullptr).retry_after);
}

}  // namespace nobs::kube
