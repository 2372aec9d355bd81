// What a request comes to, and the Status objects of everything that fails, worded as the real server words them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/json/value.h"
#include "tests/sim/api/resources.h"

namespace nobs::sim {

struct Reply {
  int code = 200;
  json::Value body;
  std::vector<std::string> warnings;  // Warning headers
};
// Nothing when all is well.
using Refusal = std::optional<Reply>;

struct Cause {
  std::string reason, message, field;
};

Reply failure(int code, std::string_view reason, std::string message,
              json::Value details = nullptr);
Reply bad_request(std::string message);
Reply not_found(const Resource& resource, std::string_view name);
Reply already_exists(const Resource& resource, std::string_view name);
Reply conflict(const Resource& resource, std::string_view name, std::string_view why);
Reply modified_meanwhile(const Resource& resource, std::string_view name);
Reply invalid_object(const Resource& resource, std::string_view name,
                     const std::vector<Cause>& causes);
// `kind`: ListOptions or PatchOptions. forbidden_list_option: the usual case.
Reply invalid_options(std::string_view kind, const Cause& cause);
Reply forbidden_list_option(std::string_view field, std::string_view message);
// A JSON patch that cannot be applied, whatever the reason.
Reply patch_failed();
Reply success(const Resource& resource, std::string_view name, const json::Value& uid);

// `"text"` as Go's %q writes it.
std::string quoted(std::string_view text);

}  // namespace nobs::sim
