// A kubeconfig gives a usable configuration or an error in words.
#include <string>

#include "shared/kube/config.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  using namespace nobs;
  const auto config =
      kube::parse_kubeconfig(std::string(fuzz::text_of(data, size)), "/directory", "");
  if (!config) {
    fuzz::require(!config.error().message.empty(), "an error says what is wrong");
    return 0;
  }
  fuzz::require(!config->endpoint.host.empty(), "there is a host");
  fuzz::require(config->endpoint.port > 0 && config->endpoint.port < 65536, "there is a port");
  return 0;
}
