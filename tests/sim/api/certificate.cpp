#include "tests/sim/api/certificate.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <memory>

namespace nobs::sim {
namespace {

template <auto Free>
struct Deleter {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Cert = std::unique_ptr<X509, Deleter<X509_free>>;
using Memory = std::unique_ptr<BIO, Deleter<BIO_free>>;

Key new_key() { return Key(EVP_EC_gen("P-256")); }

bool extend(X509* certificate, X509* issuer, int kind, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, Deleter<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, kind, value));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

Cert unsigned_certificate(EVP_PKEY* key, const char* name) {
  Cert certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  std::uint64_t serial = 0;
  RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), serial >> 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 2 * 86'400);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
  X509_set_pubkey(certificate.get(), key);
  return certificate;
}

bool sign(X509* certificate, X509* issuer, EVP_PKEY* key) {
  return X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1 &&
         X509_sign(certificate, key, EVP_sha256()) > 0;
}

std::string text_of(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  return {data, static_cast<size_t>(size)};
}

std::string pem(X509* certificate) {
  const Memory memory(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(memory.get(), certificate);
  return text_of(memory.get());
}

std::string pem(EVP_PKEY* key) {
  const Memory memory(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(memory.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return text_of(memory.get());
}

}  // namespace

Result<Certificate> make_certificate() {
  const Key ca_key = new_key();
  const Key key = new_key();
  if (!ca_key || !key) return invalid("no EC key could be made");
  const Cert ca = unsigned_certificate(ca_key.get(), "sim-ca");
  const Cert server = unsigned_certificate(key.get(), "sim-apiserver");
  const bool done =
      extend(ca.get(), ca.get(), NID_basic_constraints, "critical,CA:TRUE") &&
      sign(ca.get(), ca.get(), ca_key.get()) &&
      extend(server.get(), ca.get(), NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost") &&
      extend(server.get(), ca.get(), NID_ext_key_usage, "serverAuth") &&
      sign(server.get(), ca.get(), ca_key.get());
  if (!done) return invalid("the certificate could not be made");
  return Certificate{pem(ca.get()), pem(server.get()), pem(key.get())};
}

}  // namespace nobs::sim
