#include "shared/net/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace nobs::net {

namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

Error refused(const std::string& what) {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return invalid(what + ": " + (reason == nullptr ? "cannot be read" : reason));
}

// OpenSSL would ask on the terminal for the password of an encrypted key.
int no_password(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*user*/) { return 0; }

Owned<BIO> reader(const std::string& text) {
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Owned<X509> next_certificate(BIO* bio) {
  return Owned<X509>(PEM_read_bio_X509(bio, nullptr, no_password, nullptr));
}

Result<void> add_ca(SSL_CTX* context, const Tls& tls) {
  if (tls.ca_file.empty() && tls.ca_pem.empty()) {
    if (SSL_CTX_set_default_verify_paths(context) != 1) return refused("the system's CAs");
    return {};
  }
  // As Go does: an intermediate that we were told to trust is enough, its root need not be in the file.
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
  if (!tls.ca_file.empty() && SSL_CTX_load_verify_file(context, tls.ca_file.c_str()) != 1)
    return refused("CA file " + tls.ca_file);
  if (tls.ca_pem.empty()) return {};
  const auto bio = reader(tls.ca_pem);
  int count = 0;
  while (const auto certificate = next_certificate(bio.get())) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate.get()) != 1)
      return refused("CA data");
    ++count;
  }
  if (count == 0) return refused("CA data");
  ERR_clear_error();  // the end of the text is an "error" of PEM_read
  return {};
}

Result<void> add_certificate(SSL_CTX* context, const Tls& tls) {
  if (!tls.certificate_file.empty()) {
    if (SSL_CTX_use_certificate_chain_file(context, tls.certificate_file.c_str()) != 1)
      return refused("certificate file " + tls.certificate_file);
  } else {
    const auto bio = reader(tls.certificate_pem);
    const auto leaf = next_certificate(bio.get());
    if (!leaf || SSL_CTX_use_certificate(context, leaf.get()) != 1)
      return refused("certificate data");
    while (const auto certificate = next_certificate(bio.get()))
      if (SSL_CTX_add1_chain_cert(context, certificate.get()) != 1)
        return refused("certificate data");
    ERR_clear_error();
  }
  if (!tls.key_file.empty()) {
    if (SSL_CTX_use_PrivateKey_file(context, tls.key_file.c_str(), SSL_FILETYPE_PEM) != 1)
      return refused("key file " + tls.key_file);
  } else {
    const auto bio = reader(tls.key_pem);
    const Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
    if (!key || SSL_CTX_use_PrivateKey(context, key.get()) != 1) return refused("key data");
  }
  if (SSL_CTX_check_private_key(context) != 1) return refused("certificate and key");
  return {};
}

SslContext new_context(const SSL_METHOD* method) {
  SslContext context(SSL_CTX_new(method), SSL_CTX_free);
  if (!context) return context;
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_default_passwd_cb(context.get(), no_password);
  return context;
}

}  // namespace

bool reads_files(const Tls& tls) {
  return !tls.ca_file.empty() || !tls.certificate_file.empty() || !tls.key_file.empty();
}

Result<SslContext> client_context(const Tls& tls) {
  ERR_clear_error();
  auto context = new_context(TLS_client_method());
  if (!context) return refused("TLS");
  SSL_CTX_set_verify(context.get(), tls.insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  if (!tls.insecure)
    if (auto added = add_ca(context.get(), tls); !added) return added.error();
  if (!tls.certificate_file.empty() || !tls.certificate_pem.empty())
    if (auto added = add_certificate(context.get(), tls); !added) return added.error();
  return context;
}

Result<SslPtr> client_session(const SslContext& context, const Tls& tls, const std::string& host) {
  ERR_clear_error();
  std::string name = tls.server_name.empty() ? host : tls.server_name;
  if (name.ends_with('.')) name.pop_back();  // certificates carry names without the root's dot
  // An empty name would switch OpenSSL's check off.
  if (name.empty() || name.find('\0') != std::string::npos)
    return invalid("TLS needs a host name to check");
  SslPtr ssl(SSL_new(context.get()));
  if (!ssl) return refused("TLS session");
  SSL_set_connect_state(ssl.get());
  auto* parameters = SSL_get0_param(ssl.get());
  if (X509_VERIFY_PARAM_set1_ip_asc(parameters, name.c_str()) == 1) return ssl;
  ERR_clear_error();
  X509_VERIFY_PARAM_set_hostflags(
      parameters, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  if (X509_VERIFY_PARAM_set1_host(parameters, name.c_str(), 0) != 1 ||
      SSL_set_tlsext_host_name(ssl.get(), name.c_str()) != 1)  // names only: RFC 6066 forbids IPs
    return refused("host name " + name);
  return ssl;
}

Result<SslContext> server_context(const std::string& certificate_file,
                                  const std::string& key_file) {
  ERR_clear_error();
  auto context = new_context(TLS_server_method());
  if (!context) return refused("TLS");
  const Tls own{.certificate_file = certificate_file, .key_file = key_file};
  if (auto added = add_certificate(context.get(), own); !added) return added.error();
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  return context;
}

SslPtr server_session(const SslContext& context) {
  SslPtr ssl(SSL_new(context.get()));
  if (ssl) SSL_set_accept_state(ssl.get());
  return ssl;
}

}  // namespace nobs::net
