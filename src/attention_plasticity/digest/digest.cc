#include "attention_plasticity/digest/digest.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <array>
#include <new>

namespace attention_plasticity {

struct Digest::Context {
  EVP_MD_CTX* evp = nullptr;
  const EVP_MD* algorithm = nullptr;

  ~Context() { EVP_MD_CTX_free(evp); }
};

Digest::Digest(DigestKind kind) : context_(std::make_unique<Context>()) {
  // Where OpenSSL got no memory for its own state, it would crash later on.
  if (OSSL_LIB_CTX_get0_global_default() == nullptr) throw std::bad_alloc();
  context_->evp = EVP_MD_CTX_new();
  if (context_->evp == nullptr) throw std::bad_alloc();
  context_->algorithm = kind == DigestKind::sha256 ? EVP_sha256() : EVP_sha1();
  reset();
}

Digest::~Digest() = default;

void Digest::reset() {
  if (EVP_DigestInit_ex(context_->evp, context_->algorithm, nullptr) != 1) throw std::bad_alloc();
}

void Digest::add(std::string_view bytes) { EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()); }

std::string Digest::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_DigestFinal_ex(context_->evp, digest.data(), &size);
  std::string text;
  text.reserve(2 * std::size_t{size});
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

std::string sha256(std::string_view text) {
  Digest digest(DigestKind::sha256);
  digest.add(text);
  return digest.finish();
}

}  // namespace attention_plasticity
