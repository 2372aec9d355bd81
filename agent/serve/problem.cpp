#include "agent/serve/problem.h"

#include "shared/base/strings.h"
#include "shared/json/value.h"

namespace nobs::serve {
net::Answer problem(int status, std::string_view detail) {
  net::Answer answer(status, {}, "");
  answer.headers.set("Content-Type", "application/problem+json");
  answer.headers.set("Cache-Control", "no-store");
  answer.body = json::dump(json::object({{"type", "about:blank"},
                                         {"title", net::reason_phrase(status)},
                                         {"status", status},
                                         {"detail", printable(detail, 1024)}})) +
                "\n";
  return answer;
}

}  // namespace nobs::serve
