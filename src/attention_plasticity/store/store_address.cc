#include "attention_plasticity/store/store_address.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "attention_plasticity/base/address_secrets.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

constexpr std::string_view after_scheme = "://";
// A shorter value of an option is no secret, and may well be a part of other words: shared access signatures of Azure
// have sp=r and sr=c.
constexpr std::size_t shortest_secret_value = 8;

bool is_one_of(std::string_view word, const auto& words) { return std::ranges::find(words, word) != words.end(); }

std::string_view scheme_of(std::string_view text) {
  const std::size_t end = text.find(after_scheme);
  if (end == std::string_view::npos || end == 0) return {};
  const std::string_view scheme = text.substr(0, end);
  const bool is_scheme =
      std::isalpha(static_cast<unsigned char>(scheme.front())) != 0 && std::ranges::all_of(scheme, [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.';
      });
  return is_scheme ? scheme : std::string_view();
}

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ptr == text.data() + i + 3) {
      decoded += static_cast<char>(value);
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

void replace_all(std::string& text, const std::string& part, std::string_view by) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + by.size())) {
    text.replace(at, part.size(), by);
  }
}

}  // namespace

bool is_store_address(std::string_view text) { return !scheme_of(text).empty(); }

StoreAddress::StoreAddress(std::string_view text) : full_(text), scheme_(scheme_of(text)) {
  if (!is_one_of(scheme_, store_schemes)) {
    throw Error(ErrorKind::usage,
                fmt::format("{}:// is no object store that can be used; addresses begin with s3://, gs://, abfs://, "
                            "hdfs:// or file://, and a dataset of the Hub is given as `dataset_name`",
                            scheme_));
  }
  const auto add_secret = [this](std::string_view secret) {
    for (const std::string& spelled : {std::string(secret), percent_decoded(secret)}) {
      if (!spelled.empty() && !is_one_of(spelled, secrets_)) secrets_.push_back(spelled);
    }
  };
  std::string_view rest = text.substr(scheme_.size() + after_scheme.size());
  rest = rest.substr(0, rest.find('#'));
  const std::size_t question = rest.find('?');
  std::string_view options = question == std::string_view::npos ? std::string_view() : rest.substr(question + 1);
  rest = rest.substr(0, question);
  // A secret may hold a slash where it should be spelled %2F, so all up to the last @ may be one.
  std::string user;
  if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos && scheme_ != "file") {
    const std::string_view before = rest.substr(0, at);
    const std::size_t colon = before.find(':');
    rest = rest.substr(at + 1);
    if (colon != std::string_view::npos) add_secret(before.substr(colon + 1));
    // Elsewhere this names a container, an account or a user.
    const bool names_key = scheme_ == "s3" || scheme_ == "gs" || scheme_ == "gcs";
    const std::string_view name = before.substr(0, colon);
    if (names_key) {
      if (name != "anonymous") add_secret(name);
    } else if (!name.empty()) {
      user = fmt::format("{}@", name);
    }
  }
  const std::size_t last = rest.find_last_not_of('/');
  rest = scheme_ == "file" && last == std::string_view::npos ? rest.substr(0, 1) : rest.substr(0, last + 1);
  shown_ = fmt::format("{}{}{}{}", scheme_, after_scheme, user, rest);
  recorded_ = shown_;
  while (!options.empty()) {
    const std::string_view option = options.substr(0, options.find('&'));
    options.remove_prefix(std::min(option.size() + 1, options.size()));
    const std::size_t equals = option.find('=');
    if (is_open_option(option)) {
      recorded_ += fmt::format("{}{}", recorded_.find('?') == std::string::npos ? '?' : '&', option);
    } else if (equals != std::string_view::npos && option.size() - equals > shortest_secret_value) {
      add_secret(option.substr(equals + 1));
    }
  }
  // Of two secrets one may be a part of the other.
  std::ranges::sort(secrets_, std::ranges::greater{}, &std::string::size);
}

std::string StoreAddress::without_secrets(std::string text) const {
  replace_all(text, full_, shown_);
  for (const std::string& secret : secrets_) replace_all(text, secret, "***");
  return text;
}

std::string without_credentials(const std::string& path_or_address) {
  if (!is_store_address(path_or_address)) return path_or_address;
  return StoreAddress(path_or_address).recorded();
}

}  // namespace attention_plasticity
