// Opens a TCP or unix connection under a deadline and a stop token.
//
// Inside shared/net only. Thread-safe.
#pragma once

#include "shared/base/result.h"
#include "shared/base/unique_fd.h"
#include "shared/net/client.h"
#include "shared/net/connection.h"

namespace nobs::net {

// A non-blocking, connected socket. Tries each address of the name, each with its share of the time left.
Result<UniqueFd> dial(const Endpoint& endpoint, const Until& until);

}  // namespace nobs::net
