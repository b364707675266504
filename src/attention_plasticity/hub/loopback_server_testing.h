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
  std::string host;                            ///< as the client named it
  std::map<std::string, std::string> headers;  ///< by name in lower case
};

/// What is sent, and how the sending goes wrong. To HEAD goes the head alone.
struct LoopbackAnswer {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;  ///< Content-Length is added
  std::string body;

  std::optional<std::size_t> drop_after;   ///< closes after that many bytes of the body, though all were promised
  bool hard_drop = false;                  ///< drops with a TCP reset in place of an orderly end
  std::optional<std::size_t> stall_after;  ///< sends that many bytes of the body, then nothing until either side ends
  std::size_t bytes_per_second = 0;        ///< 0: as fast as it goes
  bool chunked = false;                    ///< Transfer-Encoding: chunked, and no Content-Length

  /// Called before each piece of the body leaves, with the bytes of the body that are sent with it, so that who has
  /// received a byte finds it counted; `ended` comes with the last piece. An answer without a body is one empty piece.
  std::function<void(std::size_t sent, bool ended)> on_sending;

  /// Replaces the header, or adds it.
  void set_header(std::string_view name, std::string value);
};

/// For tests: an HTTP/1.1 server for HEAD and GET on an address of the loopback network, with a thread and keep-alive
/// for each connection. Its end closes all connections, stalled ones too.
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
