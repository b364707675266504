#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attention_plasticity {

struct UrlParts {
  std::string scheme;            ///< in lower case
  std::string host;              ///< in lower case; never empty
  std::string port;              ///< the scheme's own where the address names none
  bool has_credentials = false;  ///< a user name or a password stands before the host
};

/// The parts of an address, or nothing when it cannot be parsed.
std::optional<UrlParts> url_parts(const std::string& url);

/// The address that `reference`, which may be relative, names when it is found at `base`. Throws Error(network) when
/// it is not an http or https address.
std::string resolved_url(const std::string& base, const std::string& reference);

/// Whether two addresses have the same scheme, host and port. Only then may a secret of one be sent to the other.
bool have_same_origin(const std::string& a, const std::string& b);

/// Whether a redirect leads from an encrypted address to one that anybody on the way can read and change.
bool gives_up_encryption(const std::string& from, const std::string& to);

/// The host of an address, for messages. Messages never show the rest: addresses of file storage are signed.
std::string url_host(const std::string& url);

/// Percent-encodes text that becomes part of a path. `keep` leaves slashes as separators of folders.
enum class Slashes { keep, encode };
std::string percent_encoded(std::string_view text, Slashes slashes);

}  // namespace attention_plasticity
