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

#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/hub.h"
#include "attention_plasticity/hub/http_headers.h"

namespace attention_plasticity {

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
  std::string url;
  std::string token;                        ///< sent to the host of `url`; empty: none. The caller must check the host.
  std::optional<std::uint64_t> first_byte;  ///< ask for the body from this byte on; the server may send all of it
  std::chrono::seconds stall_timeout{10};   ///< longest time below 1 KiB/s
};

struct HttpResponse {
  int status = 0;
  HttpHeaders headers;
};

/// Gets the body piece by piece, with the status and headers of its response. An exception ends the transfer and leaves
/// `get`.
using BodySink = std::function<void(const HttpResponse& head, std::string_view bytes)>;

/// Sends one request at a time and keeps connections open for the next. Does not follow redirects.
class HttpConnection {
 public:
  explicit HttpConnection(const HubSettings& settings);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  /// Throws ConnectionFailure when the answer does not arrive completely, Stopped after a stop request.
  HttpResponse get(const HttpRequest& request, const BodySink& body, const std::stop_token& stop);

 private:
  struct Handle;
  std::unique_ptr<Handle> handle_;
};

}  // namespace attention_plasticity
