// What nobs says about itself: help for people, completion for shells. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace nobs::cli {

std::vector<std::string> command_names();
std::string help();                            // of the program
std::string help(const std::string& command);  // of one command, with examples
// For "bash", "zsh" or "fish"; nothing for another shell.
std::optional<std::string> completion(const std::string& shell);

}  // namespace nobs::cli
