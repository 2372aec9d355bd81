// The command line of nobs as values. Pure.
//
// For main and the tests. Options may stand before or behind the command; --name value and --name=value are the same.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/result.h"

namespace nobs::cli {

enum class Format { Table, Wide, Json, Yaml };

struct Arguments {
  std::string command;             // empty: none was given
  std::vector<std::string> words;  // what stands behind it
  bool wants_help = false, wants_version = false;
  Format format = Format::Table;
  bool watch = false;
  std::string socket = "/run/neuron-observer/agent.sock";
  std::string address = "http://127.0.0.1:7001";
  bool names_socket = false,
       names_address = false;  // given, not the default: nothing else is tried
  std::string token_file;
  std::optional<int> device;
  std::string fault_class, severity;
  std::chrono::nanoseconds timeout = std::chrono::seconds(10);
  std::chrono::nanoseconds interval = std::chrono::seconds(1);  // of top
};

struct Address {
  std::string host;
  int port = 7001;
};

// Errors say what is wrong and what is accepted.
Result<Arguments> parse_arguments(const std::vector<std::string>& arguments);
// "host", "host:port", "http://host:port", "[::1]:7001".
Result<Address> parse_address(std::string_view text);

}  // namespace nobs::cli
