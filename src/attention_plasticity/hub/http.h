#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>

#include "attention_plasticity/hub/http_headers.h"
#include "attention_plasticity/hub/settings.h"

namespace attention_plasticity {

/// The work was given up because a stop was requested.
struct Stopped : std::exception {};

/// No answer, or not all of it. Another attempt may go better, unless `is_lasting`: a certificate that is not trusted,
/// a host that does not exist.
class ConnectionFailure : public std::runtime_error {
 public:
  ConnectionFailure(const std::string& reason, bool lasting) : std::runtime_error(reason), lasting_(lasting) {}
  bool is_lasting() const { return lasting_; }

 private:
  bool lasting_;
};

struct HttpRequest {
  std::string url;
  std::string token;  ///< sent as it is; empty: none. Whose host that is, is the caller's to know.
  std::optional<std::uint64_t> first_byte;  ///< the body from there on; the server may send all of it nevertheless
  std::chrono::seconds stall_timeout{10};   ///< without a byte
};

struct HttpResponse {
  int status = 0;
  HttpHeaders headers;
};

/// Takes the body piece by piece, with the head of its response. What it throws ends the transfer and comes out of get.
using BodySink = std::function<void(const HttpResponse& head, std::string_view bytes)>;

/// One request at a time; connections stay open for the next. Redirects are answers like others.
class HttpConnection {
 public:
  explicit HttpConnection(const HubSettings& settings);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  /// Throws ConnectionFailure when the answer does not arrive whole, Stopped after a stop request.
  HttpResponse get(const HttpRequest& request, const BodySink& body, const std::stop_token& stop);

 private:
  struct Handle;
  std::unique_ptr<Handle> handle_;
};

}  // namespace attention_plasticity
