// Errors of the HTTP API as application/problem+json (RFC 9457).
#pragma once

#include <string>

#include "shared/net/server.h"

namespace nobs::serve {

// `detail` is for people and may quote what was asked: it is made printable.
net::Answer problem(int status, std::string_view detail);

}  // namespace nobs::serve
