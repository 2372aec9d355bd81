// A certificate authority and a server certificate for 127.0.0.1 and localhost, made on the spot.
#pragma once

#include <string>

#include "shared/base/result.h"

namespace nobs::sim {

struct Certificate {
  std::string ca_pem, certificate_pem, key_pem;
};

// EC keys; valid from an hour ago for two days.
Result<Certificate> make_certificate();

}  // namespace nobs::sim
