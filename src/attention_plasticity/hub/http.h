#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/hub.h"

// HTTP as libcurl speaks it, and addresses as libcurl reads them.

namespace attention_plasticity {

struct UrlParts {
  std::string scheme;            ///< in lower case
  std::string host;              ///< in lower case; never empty
  std::string port;              ///< the default port of the scheme if the address has none
  bool has_credentials = false;  ///< a user name or a password stands before the host
};

/// Splits an address. Returns nothing when it cannot be parsed.
std::optional<UrlParts> url_parts(const std::string& url);

/// Resolves a reference, which may be relative, against the address that it was found at. Returns empty text for an
/// address that cannot be parsed.
std::string resolved_url(const std::string& base, const std::string& reference);

/// Compares scheme, host and port of two addresses. Only if they are equal may a secret of one be sent to the other.
bool have_same_origin(const std::string& a, const std::string& b);

/// The host of an address, for messages. Messages never show the rest: addresses of file storage are signed.
std::string url_host(const std::string& url);

/// Percent-encodes text that becomes part of a path. `keep` leaves slashes as separators of folders.
enum class Slashes { keep, encode };
std::string percent_encoded(std::string_view text, Slashes slashes);

/// The answer did not arrive, or not completely. Another attempt may succeed, unless `is_lasting`: a certificate that
/// is not trusted, an address that is malformed.
class ConnectionFailure : public std::runtime_error {
 public:
  ConnectionFailure(const std::string& reason, bool lasting) : std::runtime_error(reason), lasting_(lasting) {}
  bool is_lasting() const { return lasting_; }

 private:
  bool lasting_;
};

struct HttpRequest {
  std::string url = {};
  std::string token = {};                        ///< sent to the host of `url` only; empty: none
  std::optional<std::uint64_t> first_byte = {};  ///< requests the body from this byte on; the server may send all of it
  std::chrono::seconds stall_timeout{10};        ///< longest time below 1 KiB/s
};

/// Headers by name in lower case. Lines of one name are joined with commas.
using HttpHeaders = std::map<std::string, std::string>;

/// Returns the value of a header, empty if it is missing. `name` is in lower case.
std::string_view header_value(const HttpHeaders& headers, const std::string& name);

struct HttpResponse {
  int status = 0;
  HttpHeaders headers;
  std::string url;                                      ///< the address that answered, after redirects
  std::vector<HttpHeaders> redirects;                   ///< headers of each redirect on the way
  std::optional<std::chrono::seconds> asked_wait = {};  ///< before another attempt
};

/// Receives the body piece by piece, with the response that it belongs to. An exception ends the transfer and leaves
/// `get`.
using BodySink = std::function<void(const HttpResponse& head, std::string_view bytes)>;

/// Sends one request at a time and keeps connections open for the next. Follows up to ten redirects, never from https
/// to http; the token stays with the scheme, host and port of the first address.
class HttpConnection {
 public:
  explicit HttpConnection(const HubSettings& settings);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  /// Throws ConnectionFailure when the answer does not arrive completely, Error(network) for redirects that are not
  /// followed, and Stopped after a stop request.
  HttpResponse get(const HttpRequest& request, const BodySink& body, const std::stop_token& stop);

 private:
  struct Handle;
  std::unique_ptr<Handle> handle_;
};

}  // namespace attention_plasticity
