#include "attention_plasticity/hub/url.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <memory>

#include "attention_plasticity/base/error.h"
#include "attention_plasticity/base/text.h"

namespace attention_plasticity {
namespace {

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using ParsedUrl = std::unique_ptr<CURLU, FreeUrl>;

struct FreeText {
  void operator()(char* text) const { curl_free(text); }
};

// Empty when the address has no such part.
std::string part_of(const ParsedUrl& url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (!url || curl_url_get(url.get(), part, &text, flags) != CURLUE_OK) return {};
  const std::unique_ptr<char, FreeText> owned(text);
  return text;
}

// Null when it is no address.
ParsedUrl parsed(const std::string& address) {
  ParsedUrl url(curl_url());
  if (!url || curl_url_set(url.get(), CURLUPART_URL, address.c_str(), 0) != CURLUE_OK) return nullptr;
  return url;
}

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

}  // namespace

std::string resolved_url(const std::string& base, const std::string& reference) {
  const ParsedUrl url = parsed(base);
  const bool understood = url && curl_url_set(url.get(), CURLUPART_URL, reference.c_str(), 0) == CURLUE_OK;
  const std::string scheme = understood ? lower_case(part_of(url, CURLUPART_SCHEME)) : "";
  if (scheme != "http" && scheme != "https") {
    throw Error(ErrorKind::network, fmt::format("{} redirects to what is no address of the web", url_host(base)));
  }
  return part_of(url, CURLUPART_URL);
}

bool have_same_origin(const std::string& a, const std::string& b) {
  const ParsedUrl first = parsed(a);
  const ParsedUrl second = parsed(b);
  if (!first || !second) return false;
  const auto same = [&](CURLUPart part, unsigned flags) {
    return lower_case(part_of(first, part, flags)) == lower_case(part_of(second, part, flags));
  };
  return same(CURLUPART_SCHEME, 0) && same(CURLUPART_HOST, 0) && same(CURLUPART_PORT, CURLU_DEFAULT_PORT);
}

std::string url_host(const std::string& url) {
  const std::string host = part_of(parsed(url), CURLUPART_HOST);
  return host.empty() ? "the address" : shown_text(host);
}

std::string percent_encoded(std::string_view text, Slashes slashes) {
  std::string encoded;
  for (const char c : text) {
    if (is_unreserved(c) || (c == '/' && slashes == Slashes::part_folders)) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

}  // namespace attention_plasticity
