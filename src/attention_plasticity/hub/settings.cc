#include "attention_plasticity/hub.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <system_error>
#include <utility>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/hub/http.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

// Reads variables. An empty variable counts as not set.
class Variables {
 public:
  explicit Variables(const Environment& environment) : environment_(environment) {}

  std::optional<std::string> find(const char* name) const {
    auto value = environment_(name);
    return value && !value->empty() ? value : std::nullopt;
  }

  std::optional<std::string> first_of(std::initializer_list<const char*> names) const {
    for (const char* const name : names) {
      if (auto value = find(name)) return value;
    }
    return std::nullopt;
  }

  bool is_true(std::initializer_list<const char*> names) const {
    const std::string word = lower_case(first_of(names).value_or(""));
    return word == "1" || word == "on" || word == "yes" || word == "true";
  }

  // The folder with `~` and variables replaced. Empty when it starts with `~` and HOME is not set.
  fs::path folder(const std::string& value) const {
    const std::string at_home = with_home(value);
    return with_variables(at_home);
  }

 private:
  std::string with_home(const std::string& value) const {
    if (!value.starts_with('~')) return value;
    const std::string rest = value.substr(1);
    if (!rest.empty() && rest.front() != '/') {
      throw Error(ErrorKind::usage,
                  fmt::format("the folder {} of a variable of the Hub starts with the home of another "
                              "user: write the path out",
                              quoted_text(value)));
    }
    std::string home = find("HOME").value_or("");
    if (home.empty()) return {};
    while (home.ends_with('/')) home.pop_back();
    home += rest;
    return home.empty() ? "/" : home;
  }

  // Replaces $NAME and ${NAME}. Names of variables that are not set are kept.
  std::string with_variables(const std::string& value) const {
    const auto is_name_character = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    std::string replaced;
    for (std::size_t i = 0; i < value.size();) {
      std::size_t end = i + 1;
      std::string name;
      if (value[i] == '$' && value.substr(i + 1, 1) == "{") {
        const std::size_t brace = value.find('}', i);
        if (brace != std::string::npos) {
          name = value.substr(i + 2, brace - i - 2);
          end = brace + 1;
        }
      } else if (value[i] == '$') {
        while (end < value.size() && is_name_character(value[end])) ++end;
        name = value.substr(i + 1, end - i - 1);
      }
      const auto found = name.empty() ? std::nullopt : environment_(name.c_str());
      replaced += found ? *found : value.substr(i, end - i);
      i = end;
    }
    return replaced;
  }

  const Environment& environment_;
};

fs::path home_folder(const Variables& variables) {
  if (const auto home = variables.find("HF_HOME")) return variables.folder(*home);
  const std::string caches = variables.find("XDG_CACHE_HOME").value_or("~/.cache");
  const fs::path folder = variables.folder(caches);
  return folder.empty() ? folder : folder / "huggingface";
}

fs::path cache_folder(const Variables& variables, const fs::path& home) {
  if (const auto cache = variables.first_of({"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"})) {
    return variables.folder(*cache);
  }
  return home.empty() ? home : home / "hub";
}

std::string endpoint(std::string address) {
  const auto refuse = [](const char* why) {
    throw Error(ErrorKind::usage, fmt::format("HF_ENDPOINT {}: set it to an address such as https://huggingface.co, "
                                              "or unset it",
                                              why));
  };
  const std::string_view scheme = address.starts_with("http://") ? "http://" : "https://";
  if (!address.starts_with(scheme)) refuse("starts with neither http:// nor https://");
  while (address.size() > scheme.size() && address.ends_with('/')) address.pop_back();
  const auto is_foreign = [](char c) { return c <= ' ' || c > '~' || c == '\\' || c == '?' || c == '#'; };
  if (std::ranges::any_of(address, is_foreign)) refuse("holds a character that is not allowed in it");
  const auto parts = url_parts(address);
  // libcurl takes https:///x for https://x.
  if (!parts || address[scheme.size()] == '/') refuse("has no host, or a port that is not a number up to 65535");
  if (parts && parts->has_credentials) refuse("holds a user name or a password; a token belongs in HF_TOKEN");
  return address;
}

std::string checked_token(const std::string& text, const std::string& file = {}) {
  constexpr const char* blanks = " \t\r\n\v\f";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string::npos) return {};
  std::string token = text.substr(first, text.find_last_not_of(blanks) - first + 1);
  // A line break would end the header that carries the token and start another one.
  if (std::ranges::any_of(token, [](char c) { return c <= ' ' || c > '~'; })) {
    throw Error(
        ErrorKind::usage,
        fmt::format("the token {} holds blanks, line breaks or other characters that no token has: copy it again",
                    file.empty() ? "of HF_TOKEN" : "in the file"),
        file);
  }
  return token;
}

std::string token_of_file(const fs::path& file) {
  std::error_code unknown;
  if (file.empty() || fs::status(file, unknown).type() == fs::file_type::not_found) return {};
  std::string text;
  try {
    text = read_text_file(file);
  } catch (const Error&) {
    throw Error(ErrorKind::usage,
                "the token cannot be read: check the file's permissions, or pass the token in HF_TOKEN", file.string());
  }
  return checked_token(text, file.string());
}

std::string token(const Variables& variables, const fs::path& home) {
  if (variables.is_true({"HF_HUB_DISABLE_IMPLICIT_TOKEN"})) return {};
  std::string given = checked_token(variables.first_of({"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}).value_or(""));
  if (!given.empty()) return given;
  if (const auto file = variables.find("HF_TOKEN_PATH")) return token_of_file(variables.folder(*file));
  return token_of_file(home.empty() ? home : home / "token");
}

seconds timeout(const Variables& variables, const char* name, seconds usual) {
  // Eleven days, which is as good as no limit. libcurl accepts about twice as much.
  constexpr long long longest = 1'000'000;
  const auto value = variables.find(name);
  if (!value) return usual;
  const std::string_view text = trimmed_text(*value);
  long long count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool is_beyond = error == std::errc::result_out_of_range && !text.starts_with('-');
  if ((error != std::errc() && !is_beyond) || end != text.data() + text.size() || count < 0) {
    throw Error(ErrorKind::usage,
                fmt::format("{} is {}: a whole number of seconds is expected", name, quoted_text(*value)));
  }
  if (is_beyond) return seconds{longest};
  return count == 0 ? usual : seconds{std::min(count, longest)};
}

void set_certificates(const Variables& variables, HubSettings& settings) {
  settings.ca_folder = variables.find("SSL_CERT_DIR").value_or("");
  const auto bundle = variables.first_of({"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"});
  if (!bundle) return;
  std::error_code unknown;
  (fs::is_directory(*bundle, unknown) ? settings.ca_folder : settings.ca_file) = *bundle;
}

}  // namespace

HubSettings hub_settings(const Environment& environment) {
  const Variables variables(environment);
  const fs::path home = home_folder(variables);
  HubSettings settings;
  if (auto address = variables.find("HF_ENDPOINT")) settings.endpoint = endpoint(*std::move(address));
  settings.token = token(variables, home);
  settings.cache = cache_folder(variables, home);
  settings.offline = variables.is_true({"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"});
  settings.use_symlinks = !variables.is_true({"HF_HUB_DISABLE_SYMLINKS"});
  settings.answer_timeout = timeout(variables, "HF_HUB_ETAG_TIMEOUT", settings.answer_timeout);
  settings.stall_timeout = timeout(variables, "HF_HUB_DOWNLOAD_TIMEOUT", settings.stall_timeout);
  set_certificates(variables, settings);
  return settings;
}

}  // namespace attention_plasticity
