// Who somebody is and what they may do, as other servers ask it.

#include "tests/sim/api/core.h"

namespace nobs::sim {
namespace {

using json::Value;

Value person(const User& user) {
  json::Array groups;
  if (user.may_do_everything) groups.emplace_back("system:masters");
  groups.emplace_back("system:authenticated");
  return json::object(
      {{"username", user.name}, {"uid", user.name + "-uid"}, {"groups", std::move(groups)}});
}

bool is_master(const Value& groups) {
  for (const auto& group : groups.items())
    if (group.string_or("") == "system:masters") return true;
  return false;
}

}  // namespace

std::optional<Reply> review(const Core& core, std::string_view path, const std::string& body,
                            const User& user) {
  constexpr std::string_view kAuthentication = "/apis/authentication.k8s.io/v1/";
  constexpr std::string_view kAuthorization = "/apis/authorization.k8s.io/v1/";
  const auto parsed = json::parse(body);
  Value answer = parsed ? *parsed : Value(json::Object{});
  const Value spec = std::as_const(answer)["spec"];
  if (path == std::string(kAuthentication) + "tokenreviews") {
    const auto found = core.users.by_token(spec["token"].string_or(""));
    answer["status"] =
        found ? json::object({{"authenticated", true},
                              {"user", person(*found)},
                              {"audiences", json::array({"https://kubernetes.default.svc"})}})
              : json::object({{"user", json::Object{}}, {"error", "invalid bearer token"}});
  } else if (path == std::string(kAuthentication) + "selfsubjectreviews") {
    answer["status"] = json::object({{"userInfo", person(user)}});
  } else if (path == std::string(kAuthorization) + "subjectaccessreviews") {
    const auto found = core.users.by_name(spec["user"].string_or(""));
    const bool allowed = is_master(spec["groups"]) || (found && found->may_do_everything);
    answer["status"] = json::object({{"allowed", allowed}});
  } else if (path == std::string(kAuthorization) + "selfsubjectaccessreviews") {
    answer["status"] = json::object({{"allowed", user.may_do_everything}});
  } else {
    return std::nullopt;
  }
  return Reply{201, std::move(answer), {}};
}

}  // namespace nobs::sim
