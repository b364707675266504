#include "attention_plasticity/base/address_secrets.h"

#include <algorithm>
#include <cctype>

namespace attention_plasticity {
namespace {

constexpr std::array<std::string_view, 10> open_options{"endpoint_override",
                                                        "scheme",
                                                        "region",
                                                        "retry_limit_seconds",
                                                        "blob_storage_authority",
                                                        "dfs_storage_authority",
                                                        "enable_tls",
                                                        "blob_storage_scheme",
                                                        "dfs_storage_scheme",
                                                        "replication"};

constexpr std::string_view hidden = "***";

bool is_one_of(std::string_view word, const auto& words) { return std::ranges::find(words, word) != words.end(); }

bool is_alphanumeric(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// The word before a colon, if it may be a scheme.
std::string_view scheme_before(std::string_view text) {
  std::size_t begin = text.size();
  while (begin > 0 &&
         (is_alphanumeric(text[begin - 1]) || std::string_view("+-.").find(text[begin - 1]) != std::string_view::npos))
    --begin;
  return text.substr(begin);
}

// The part of an address between the slashes and its options, without its user.
std::string without_user(std::string_view scheme, std::string_view place) {
  if (scheme == "file") return std::string(place);
  const bool is_store = is_one_of(scheme, store_schemes);
  // A secret of a store may hold a slash where it should be spelled %2F.
  const std::size_t at = is_store ? place.rfind('@') : place.substr(0, place.find('/')).rfind('@');
  const std::string_view user = place.substr(0, at == std::string_view::npos ? place.find('/') : at);
  const std::size_t colon = user.find(':');
  if (at == std::string_view::npos) {
    // After a host comes its port; anything else may be a secret whose @ is missing.
    const bool is_port = colon == std::string_view::npos || colon + 1 == user.size() ||
                         std::isdigit(static_cast<unsigned char>(user[colon + 1])) != 0;
    if (is_port) return std::string(place);
    return std::string(place.substr(0, colon + 1)) + std::string(hidden);
  }
  const bool names_user = is_store && !is_one_of(scheme, std::array<std::string_view, 3>{"s3", "gs", "gcs"});
  const std::string name(names_user ? user.substr(0, colon) : std::string_view());
  return name + (name.empty() ? "" : "@") + std::string(place.substr(at + 1));
}

std::string without_secret_options(std::string_view options) {
  std::string shown;
  while (!options.empty()) {
    const std::string_view option = options.substr(0, options.find('&'));
    const std::size_t equals = option.find('=');
    if (is_open_option(option) || equals == std::string_view::npos) {
      shown += option;
    } else {
      shown += option.substr(0, equals + 1);
      shown += hidden;
    }
    options.remove_prefix(option.size());
    if (!options.empty()) {
      shown += '&';
      options.remove_prefix(1);
    }
  }
  return shown;
}

std::string shown_address(std::string_view scheme, std::string_view rest) {
  if (!is_one_of(scheme, store_schemes)) return without_user(scheme, rest);
  // Punctuation of a sentence after the address.
  const std::size_t last = rest.find_last_not_of(".,;:)");
  const std::string_view sign = rest.substr(last == std::string_view::npos ? 0 : last + 1);
  rest.remove_suffix(sign.size());
  const std::size_t question = rest.find('?');
  std::string shown = without_user(scheme, rest.substr(0, question));
  if (question != std::string_view::npos) shown += '?' + without_secret_options(rest.substr(question + 1));
  return shown + std::string(sign);
}

}  // namespace

bool is_open_option(std::string_view option) {
  return is_one_of(option.substr(0, option.find('=')), open_options) && option.find('@') == std::string_view::npos;
}

std::string without_address_secrets(std::string_view text) {
  std::string shown;
  std::size_t done = 0;
  for (std::size_t colon = text.find(":/"); colon != std::string_view::npos; colon = text.find(":/", colon + 1)) {
    if (colon < done) continue;
    const std::string_view scheme = scheme_before(text.substr(done, colon - done));
    const std::size_t place = std::min(text.find_first_not_of('/', colon + 1), text.size());
    // As a path, an address may have lost a slash.
    if (scheme.size() < 2 || (place < colon + 3 && !is_one_of(scheme, store_schemes))) continue;
    const std::size_t end = std::min(text.find_first_of(" \t\r\n'\"`<>", place), text.size());
    shown += text.substr(done, place - done);
    shown += shown_address(scheme, text.substr(place, end - place));
    done = end;
  }
  return shown + std::string(text.substr(done));
}

}  // namespace attention_plasticity
