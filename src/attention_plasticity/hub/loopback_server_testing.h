#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace attention_plasticity {

struct LoopbackRequest {
  std::string method;
  std::string target;                          ///< path and query as received
  std::string host;                            ///< the Host header
  std::map<std::string, std::string> headers;  ///< by name in lower case
};

/// An answer, and faults while it is sent. HEAD requests get its headers only.
struct LoopbackAnswer {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;  ///< Content-Length is added
  std::string body;

  std::optional<std::size_t> drop_after;   ///< close after this number of bytes of the body
  bool hard_drop = false;                  ///< close with a TCP reset
  std::optional<std::size_t> stall_after;  ///< send this number of bytes of the body, then nothing
  std::size_t bytes_per_second = 0;        ///< 0: no limit
  bool chunked = false;                    ///< send Transfer-Encoding: chunked, and no Content-Length

  /// Called before each piece of the body is sent, with the number of bytes sent including this piece: a client that
  /// has received a byte finds it counted. `ended` is true for the last piece. An empty body is one empty piece.
  std::function<void(std::size_t sent, bool ended)> on_sending;

  /// Replaces the header, or adds it.
  void set_header(std::string_view name, std::string value);
};

/// A number of digits only; nothing for other text and for numbers that are too large.
std::optional<std::size_t> parse_number(std::string_view text);

/// For tests: the target of a request, parsed. Parts, names and values are percent-decoded after they are separated, so
/// that an encoded slash separates nothing.
struct LoopbackTarget {
  explicit LoopbackTarget(std::string_view text);

  /// The parts from number `first` on, with slashes between them.
  std::string rest(std::size_t first) const;
  bool is_true(const std::string& name) const;
  std::size_t number(const std::string& name, std::size_t otherwise) const;

  std::string path;  ///< as received, without the query
  std::vector<std::string> parts;
  std::map<std::string, std::string> query;
};

/// For tests: an HTTP/1.1 server for HEAD and GET on an address of the loopback network, with one thread for each
/// connection, and keep-alive. Its destructor closes all connections, stalled ones too.
class LoopbackServer {
 public:
  using Handler = std::function<LoopbackAnswer(const LoopbackRequest&)>;

  /// Listens on a free port. The handler is called by several threads at once.
  LoopbackServer(const std::string& address, Handler handler);
  ~LoopbackServer();
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  /// http://ADDRESS:PORT
  const std::string& origin() const { return origin_; }
  /// Connections that were accepted so far.
  std::size_t connections() const;

 private:
  struct Connection {
    int socket = -1;  // -1: closed; closed and shut down under the mutex, since the number is reused at once
    bool finished = false;
    std::thread thread;
  };

  void accept_all();
  void serve(Connection& connection);
  void join_finished();

  Handler handler_;
  std::string origin_;
  int listener_ = -1;
  mutable std::mutex mutex_;
  bool stopping_ = false;
  std::size_t accepted_ = 0;
  std::list<Connection> connections_;
  std::thread acceptor_;
};

}  // namespace attention_plasticity
