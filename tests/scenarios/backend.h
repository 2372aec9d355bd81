// The Kubernetes API that scenarios run on: the embedded one or a real kube-apiserver, chosen by NOBS_BACKEND.
//
// Both are programs that write admin.kubeconfig and alice.kubeconfig into a directory and live until their standard
// input closes. One is started for each test program; scenarios tidy up after themselves.
#pragma once

#include <memory>
#include <string>

#include "shared/kube/client.h"
#include "tests/scenarios/process.h"

namespace nobs::test {

class Backend {
 public:
  // Throws when it is not ready within two minutes, with the end of its output.
  Backend();

  bool is_real() const { return is_real_; }
  const std::string& directory() const { return directory_; }
  kube::Config config(const std::string& user) const;

 private:
  bool is_real_ = false;
  std::string directory_;
  std::unique_ptr<Process> process_;
};

// A directory that goes with the process.
std::string scratch_directory(const std::string& name);
// Of this build: build/dev/neuron-observer-agent and so on.
std::string program(const std::string& name);

}  // namespace nobs::test
