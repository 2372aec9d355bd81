// Runs a kubeconfig's credential plugin, such as `aws eks get-token`, and reads what it prints.
//
// For credentials.cpp. Thread-safe. The plugin gets no standard input and our environment; it is killed with all its
// children after `limit` or when `stop` is requested, and may print 1 MiB.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "shared/base/clock.h"
#include "shared/base/result.h"
#include "shared/kube/config.h"

namespace nobs::kube {

struct ExecCredential {
  std::string token;
  std::string certificate_pem, key_pem;
  std::optional<WallTime> expires;  // nothing: good until the server refuses it
};

Result<ExecCredential> parse_exec_credential(std::string_view text, const std::string& api_version);

Result<ExecCredential> run_exec_plugin(const ExecPlugin& plugin, std::chrono::milliseconds limit,
                                       const std::stop_token& stop);

}  // namespace nobs::kube
