// Certificates made while a test runs: an authority and what it issues, as PEM text or files in a directory that goes.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace nobs::test {

struct Identity {
  std::string certificate, key;  // PEM
};

// What a certificate says: alternative names as OpenSSL writes them ("IP:127.0.0.1", "DNS:a.example").
struct Subject {
  std::string common_name = "test";
  std::string alternative_names;  // none when empty
  bool authority = false;
};

Identity issue(const Subject& subject,
               const Identity* issuer = nullptr);  // self-signed without one
std::string encrypted_key(const Identity& identity, const std::string& password);

}  // namespace nobs::test
