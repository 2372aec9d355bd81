// What each command of nobs does. Returns the exit code.
//
// For main. One thread; output to standard output, what went wrong to standard error.
#pragma once

#include <stop_token>

#include "agent/nobs/arguments.h"

namespace nobs::cli {

// A command that asks the agent (not help, completion).
int run_command(const Arguments& arguments, const std::stop_token& stop);

}  // namespace nobs::cli
