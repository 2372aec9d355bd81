// What a credential plugin printed (client.authentication.k8s.io ExecCredential).
#include "shared/base/rfc3339.h"
#include "shared/base/strings.h"
#include "shared/json/value.h"
#include "shared/kube/exec_plugin.h"

namespace nobs::kube {

Result<ExecCredential> parse_exec_credential(std::string_view text,
                                             const std::string& api_version) {
  const auto document = json::parse(text);
  if (!document) return invalid("its output is " + document.error().message);
  const std::string kind = (*document)["kind"].string_or("");
  const std::string version = (*document)["apiVersion"].string_or("");
  if (kind != "ExecCredential" || version != api_version) {
    return invalid("its output is a \"" + printable(kind, 60) + "\" of \"" +
                   printable(version, 60) + "\"; wanted an ExecCredential of " + api_version);
  }
  const json::Value& status = (*document)["status"];
  ExecCredential credential;
  credential.token = status["token"].string_or("");
  credential.certificate_pem = status["clientCertificateData"].string_or("");
  credential.key_pem = status["clientKeyData"].string_or("");
  if (credential.certificate_pem.empty() != credential.key_pem.empty()) {
    return invalid("its output has only one of clientCertificateData and clientKeyData");
  }
  if (credential.token.empty() && credential.certificate_pem.empty()) {
    return invalid("its output has neither a token nor a client certificate");
  }
  if (const auto* expires = status["expirationTimestamp"].if_string()) {
    const auto time = parse_rfc3339(*expires);
    if (!time) return invalid("its expirationTimestamp is " + time.error().message);
    credential.expires = *time;
  }
  return credential;
}

}  // namespace nobs::kube
