#include "attention_plasticity/hub/url.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <memory>
#include <new>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using ParsedUrl = std::unique_ptr<CURLU, FreeUrl>;

struct FreeText {
  void operator()(char* text) const { curl_free(text); }
};
using CurlText = std::unique_ptr<char, FreeText>;

// Null when the address has no such part.
CurlText part_of(const ParsedUrl& url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  curl_url_get(url.get(), part, &text, flags);
  return CurlText(text);
}

// Null when it cannot be parsed.
ParsedUrl parsed(const std::string& address) {
  ParsedUrl url(curl_url());
  if (!url || curl_url_set(url.get(), CURLUPART_URL, address.c_str(), 0) != CURLUE_OK) return nullptr;
  return url;
}

std::string lower_case_part(const ParsedUrl& url, CURLUPart part, unsigned flags = 0) {
  const CurlText text = part_of(url, part, flags);
  return text ? lower_case(text.get()) : std::string();
}

}  // namespace

std::optional<UrlParts> url_parts(const std::string& url) {
  const ParsedUrl parts = parsed(url);
  if (!parts) return std::nullopt;
  return UrlParts{lower_case_part(parts, CURLUPART_SCHEME), lower_case_part(parts, CURLUPART_HOST),
                  lower_case_part(parts, CURLUPART_PORT, CURLU_DEFAULT_PORT),
                  part_of(parts, CURLUPART_USER) || part_of(parts, CURLUPART_PASSWORD)};
}

std::string resolved_url(const std::string& base, const std::string& reference) {
  const ParsedUrl url = parsed(base);
  const bool is_parsed = url && curl_url_set(url.get(), CURLUPART_URL, reference.c_str(), 0) == CURLUE_OK;
  const std::string scheme = is_parsed ? lower_case_part(url, CURLUPART_SCHEME) : "";
  if (scheme != "http" && scheme != "https") {
    throw Error(ErrorKind::network,
                fmt::format("{} redirects to an address that is neither http nor https", url_host(base)));
  }
  const CurlText whole = part_of(url, CURLUPART_URL);
  if (!whole) throw std::bad_alloc();
  return whole.get();
}

bool have_same_origin(const std::string& a, const std::string& b) {
  const auto first = url_parts(a);
  const auto second = url_parts(b);
  return first && second && first->scheme == second->scheme && first->host == second->host &&
         first->port == second->port;
}

bool gives_up_encryption(const std::string& from, const std::string& to) {
  const auto first = url_parts(from);
  const auto second = url_parts(to);
  return first && first->scheme == "https" && (!second || second->scheme != "https");
}

std::string url_host(const std::string& url) {
  const auto parts = url_parts(url);
  return parts ? shown_text(parts->host) : "the address";
}

std::string percent_encoded(std::string_view text, Slashes slashes) {
  const CurlText encoded(curl_easy_escape(nullptr, std::string(text).c_str(), static_cast<int>(text.size())));
  if (!encoded) throw std::bad_alloc();
  std::string result = encoded.get();
  if (slashes == Slashes::encode) return result;
  // A percent sign of the text is %25 by now, so that each %2F was a slash.
  for (std::size_t at = 0; (at = result.find("%2F", at)) != std::string::npos; ++at) result.replace(at, 3, 1, '/');
  return result;
}

}  // namespace attention_plasticity
