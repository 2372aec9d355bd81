#include "tests/unit/net/certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace nobs::test {

namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<size_t>(size)};
}

void extend(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

Owned<EVP_PKEY> read_key(const Identity& identity) {
  const Owned<BIO> bio(BIO_new_mem_buf(identity.key.data(), -1));
  return Owned<EVP_PKEY>(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
}

}  // namespace

Identity issue(const Subject& subject, const Identity* issuer) {
  static std::atomic<long> serial{1};
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  const Owned<X509> certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial++);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(subject.common_name.c_str()),
                             -1, -1, 0);
  Owned<X509> signer;
  Owned<EVP_PKEY> signing_key;
  if (issuer != nullptr) {
    const Owned<BIO> bio(BIO_new_mem_buf(issuer->certificate.data(), -1));
    signer.reset(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    signing_key = read_key(*issuer);
  }
  X509* parent = signer ? signer.get() : certificate.get();
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(parent));
  extend(certificate.get(), parent, NID_subject_key_identifier, "hash");
  if (subject.authority)
    extend(certificate.get(), parent, NID_basic_constraints, "critical,CA:TRUE");
  if (!subject.alternative_names.empty())
    extend(certificate.get(), parent, NID_subject_alt_name, subject.alternative_names);
  X509_sign(certificate.get(), signing_key ? signing_key.get() : key.get(), EVP_sha256());

  const Owned<BIO> certificate_text(BIO_new(BIO_s_mem()));
  const Owned<BIO> key_text(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(certificate_text.get(), certificate.get());
  PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return {text_of(certificate_text.get()), text_of(key_text.get())};
}

std::string encrypted_key(const Identity& identity, const std::string& password) {
  const auto key = read_key(identity);
  const Owned<BIO> text(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(text.get(), key.get(), EVP_aes_128_cbc(),
                           reinterpret_cast<const unsigned char*>(password.data()),
                           static_cast<int>(password.size()), nullptr, nullptr);
  return text_of(text.get());
}

}  // namespace nobs::test
