// `nobs top`: a frame a second, on the whole screen where there is one, else one below the other.
#pragma once

#include <stop_token>

#include "agent/nobs/arguments.h"

namespace nobs::cli {

// Until q, a signal, or nobody reads. The exit code is the node's last health; 4 when the agent never answered.
int run_top(const Arguments& arguments, const std::stop_token& stop);

}  // namespace nobs::cli
