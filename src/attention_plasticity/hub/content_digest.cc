#include "attention_plasticity/hub/content_digest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>

#include <array>
#include <new>

namespace attention_plasticity {

struct ContentDigest::Context {
  EVP_MD_CTX* evp = nullptr;
  const EVP_MD* algorithm = nullptr;
  std::string prefix;  // is hashed before the content
};

ContentDigest::ContentDigest(const RepoFile& file) : context_(std::make_unique<Context>()) {
  context_->evp = EVP_MD_CTX_new();
  if (context_->evp == nullptr) throw std::bad_alloc();
  context_->algorithm = file.is_large ? EVP_sha256() : EVP_sha1();
  // A Git object begins with its kind, its size and a zero byte.
  if (!file.is_large) context_->prefix = fmt::format("blob {}", file.size) + '\0';
  reset();
}

ContentDigest::~ContentDigest() { EVP_MD_CTX_free(context_->evp); }

void ContentDigest::reset() {
  if (EVP_DigestInit_ex(context_->evp, context_->algorithm, nullptr) != 1) throw std::bad_alloc();
  add(context_->prefix);
}

void ContentDigest::add(std::string_view bytes) { EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()); }

std::string ContentDigest::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_DigestFinal_ex(context_->evp, digest.data(), &size);
  return fmt::format("{:02x}", fmt::join(digest.begin(), digest.begin() + size, ""));
}

}  // namespace attention_plasticity
