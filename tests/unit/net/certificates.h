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

class Directory {
 public:
  Directory();
  ~Directory();
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  std::string path(const std::string& name) const { return path_ + '/' + name; }
  // Writes and returns the path.
  std::string file(const std::string& name, const std::string& content) const;

 private:
  std::string path_;
};

}  // namespace nobs::test
