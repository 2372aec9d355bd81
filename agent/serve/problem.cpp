#include "agent/serve/problem.h"

#include "shared/base/strings.h"
#include "shared/json/value.h"

namespace nobs::serve {
namespace {

const char* title_of(int status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 421:
      return "Misdirected Request";
    case 503:
      return "Service Unavailable";
    default:
      return "Error";
  }
}

}  // namespace

net::Answer problem(int status, std::string_view detail) {
  net::Answer answer(status, {}, "");
  answer.headers.set("Content-Type", "application/problem+json");
  answer.headers.set("Cache-Control", "no-store");
  answer.body = json::dump(json::object({{"type", "about:blank"},
                                         {"title", title_of(status)},
                                         {"status", status},
                                         {"detail", printable(detail, 1024)}})) +
                "\n";
  return answer;
}

}  // namespace nobs::serve
