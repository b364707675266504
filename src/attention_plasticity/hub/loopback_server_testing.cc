#include "attention_plasticity/hub/loopback_server_testing.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>

#include "attention_plasticity/base/text.h"

namespace attention_plasticity {
namespace {

constexpr std::size_t largest_head = 65'536;
constexpr std::size_t largest_piece = 65'536;
constexpr int slow_pieces_per_second = 20;

[[noreturn]] void throw_system_error(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

std::string_view status_text(int status) {
  static const std::map<int, std::string_view> texts{
      {200, "OK"},           {206, "Partial Content"}, {302, "Found"},     {307, "Temporary Redirect"},
      {401, "Unauthorized"}, {403, "Forbidden"},       {404, "Not Found"}, {429, "Too Many Requests"}};
  const auto found = texts.find(status);
  return found == texts.end() ? "Other" : found->second;
}

/// Receives and sends on one connection.
class Stream {
 public:
  explicit Stream(int socket) : socket_(socket) {}

  /// Request line and headers of the next request; nothing at the end of the connection.
  std::optional<std::string> read_head() {
    constexpr std::string_view end_of_head = "\r\n\r\n";
    for (;;) {
      if (const auto end = received_.find(end_of_head); end != std::string::npos) {
        std::string head = received_.substr(0, end);
        received_.erase(0, end + end_of_head.size());
        return head;
      }
      if (received_.size() > largest_head || !receive()) return std::nullopt;
    }
  }

  /// Skips the body of a request. Returns false when the connection ended.
  bool skip(std::size_t bytes) {
    while (received_.size() < bytes) {
      bytes -= received_.size();
      received_.clear();
      if (!receive()) return false;
    }
    received_.erase(0, bytes);
    return true;
  }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  /// Waits. Returns false when either side ends the connection meanwhile. A negative time waits for that.
  bool wait(int milliseconds) {
    pollfd watched{socket_, POLLRDHUP, 0};
    int ready = 0;
    do {
      ready = ::poll(&watched, 1, milliseconds);
    } while (ready < 0 && errno == EINTR);
    return ready == 0;
  }

  /// Makes the next close a TCP reset. Waits until the sent bytes have arrived, because a reset discards bytes in
  /// flight.
  void reset_on_close() {
    for (int tries = 0; tries < 200; ++tries) {
      int unsent = 0;
      if (::ioctl(socket_, SIOCOUTQ, &unsent) != 0 || unsent == 0 || !wait(5)) break;
    }
    const linger at_once{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }

 private:
  bool receive() {
    char buffer[8192];
    for (;;) {
      const ssize_t count = ::recv(socket_, buffer, sizeof buffer, 0);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      received_.append(buffer, static_cast<std::size_t>(count));
      return true;
    }
  }

  int socket_;
  std::string received_;
};

std::optional<LoopbackRequest> parse_request(std::string_view head) {
  const auto line_end = std::min(head.find("\r\n"), head.size());
  const std::string_view line = head.substr(0, line_end);
  const auto first = line.find(' ');
  const auto second = line.find(' ', first == std::string_view::npos ? first : first + 1);
  if (second == std::string_view::npos || !line.substr(second + 1).starts_with("HTTP/1.")) return std::nullopt;

  LoopbackRequest request;
  request.method = line.substr(0, first);
  request.target = line.substr(first + 1, second - first - 1);
  if (line.ends_with("HTTP/1.0")) request.headers["connection"] = "close";
  head.remove_prefix(std::min(line_end + 2, head.size()));
  while (!head.empty()) {
    const auto end = std::min(head.find("\r\n"), head.size());
    const std::string_view header = head.substr(0, end);
    const auto colon = header.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    request.headers[lower_case(header.substr(0, colon))] = trimmed_text(header.substr(colon + 1));
    head.remove_prefix(std::min(end + 2, head.size()));
  }
  if (const auto host = request.headers.find("host"); host != request.headers.end()) request.host = host->second;
  return request;
}

std::size_t request_body_size(const LoopbackRequest& request) {
  const auto length = request.headers.find("content-length");
  return length == request.headers.end() ? 0 : parse_number(length->second).value_or(0);
}

std::string head_of(const LoopbackAnswer& answer) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", answer.status, status_text(answer.status));
  for (const auto& [name, value] : answer.headers) head += fmt::format("{}: {}\r\n", name, value);
  if (answer.chunked) {
    head += "Transfer-Encoding: chunked\r\n";
  } else {
    head += fmt::format("Content-Length: {}\r\n", answer.body.size());
  }
  return head + "\r\n";
}

/// Sends the body up to where a fault ends it. Returns false when the connection ended.
bool send_body(Stream& stream, const LoopbackAnswer& answer) {
  const std::string_view whole = answer.body;
  const std::string_view body = whole.substr(
      0, std::min({whole.size(), answer.drop_after.value_or(whole.size()), answer.stall_after.value_or(whole.size())}));
  const std::size_t piece_size =
      answer.bytes_per_second == 0
          ? largest_piece
          : std::clamp<std::size_t>(answer.bytes_per_second / slow_pieces_per_second, 1, largest_piece);
  const auto report = [&](std::size_t sent, bool ended) {
    if (answer.on_sending) answer.on_sending(sent, ended);
  };
  if (body.empty()) report(0, true);
  for (std::size_t sent = 0; sent < body.size();) {
    const std::string_view piece = body.substr(sent, piece_size);
    report(sent + piece.size(), sent + piece.size() == body.size());
    const bool arrived = (!answer.chunked || stream.send(fmt::format("{:x}\r\n", piece.size()))) &&
                         stream.send(piece) && (!answer.chunked || stream.send("\r\n"));
    if (!arrived || (answer.bytes_per_second > 0 && !stream.wait(1000 / slow_pieces_per_second))) {
      report(arrived ? sent + piece.size() : sent, true);
      return false;
    }
    sent += piece.size();
  }
  return true;
}

/// Returns false when the connection must be closed.
bool send_answer(Stream& stream, const LoopbackRequest& request, const LoopbackAnswer& answer) {
  if (request.method == "HEAD") {
    if (answer.on_sending) answer.on_sending(0, true);
    return stream.send(head_of(answer));
  }
  if (!stream.send(head_of(answer)) || !send_body(stream, answer)) return false;
  if (answer.stall_after) stream.wait(-1);
  if (answer.drop_after && answer.hard_drop) stream.reset_on_close();
  if (answer.stall_after || answer.drop_after) return false;
  return !answer.chunked || stream.send("0\r\n\r\n");
}

LoopbackAnswer refused_method() {
  LoopbackAnswer answer;
  answer.status = 405;
  return answer;
}

std::string percent_decoded(std::string_view text) {
  int size = 0;
  char* const decoded = curl_easy_unescape(nullptr, std::string(text).c_str(), static_cast<int>(text.size()), &size);
  std::string result(decoded, static_cast<std::size_t>(size));
  curl_free(decoded);
  return result;
}

// Takes the text before `separator` off the front of `rest`.
std::string_view take_until(std::string_view& rest, char separator) {
  const std::string_view taken = rest.substr(0, rest.find(separator));
  rest.remove_prefix(std::min(taken.size() + 1, rest.size()));
  return taken;
}

}  // namespace

std::optional<std::size_t> parse_number(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

LoopbackTarget::LoopbackTarget(std::string_view text) {
  std::string_view folders = take_until(text, '?');
  path = folders;
  take_until(folders, '/');
  while (!folders.empty()) parts.push_back(percent_decoded(take_until(folders, '/')));
  while (!text.empty()) {
    std::string_view value = take_until(text, '&');
    const std::string name = percent_decoded(take_until(value, '='));
    query[name] = percent_decoded(value);
  }
}

std::string LoopbackTarget::rest(std::size_t first) const {
  return first < parts.size()
             ? fmt::format("{}", fmt::join(parts.begin() + static_cast<std::ptrdiff_t>(first), parts.end(), "/"))
             : "";
}

bool LoopbackTarget::is_true(const std::string& name) const {
  const auto found = query.find(name);
  return found != query.end() && lower_case(found->second) == "true";
}

std::size_t LoopbackTarget::number(const std::string& name, std::size_t otherwise) const {
  const auto found = query.find(name);
  return found == query.end() ? otherwise : parse_number(found->second).value_or(otherwise);
}

void LoopbackAnswer::set_header(std::string_view name, std::string value) {
  for (auto& header : headers) {
    if (lower_case(header.first) == lower_case(name)) {
      header.second = std::move(value);
      return;
    }
  }
  headers.emplace_back(name, std::move(value));
}

LoopbackServer::LoopbackServer(const std::string& address, Handler handler) : handler_(std::move(handler)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener_ < 0) throw_system_error("socket");
  sockaddr_in name{};
  name.sin_family = AF_INET;
  socklen_t size = sizeof name;
  auto* const generic = reinterpret_cast<sockaddr*>(&name);
  if (::inet_pton(AF_INET, address.c_str(), &name.sin_addr) != 1 || ::bind(listener_, generic, size) != 0 ||
      ::listen(listener_, SOMAXCONN) != 0 || ::getsockname(listener_, generic, &size) != 0) {
    const int cause = errno;
    ::close(listener_);
    errno = cause;
    throw_system_error("listening on " + address);
  }
  origin_ = fmt::format("http://{}:{}", address, ntohs(name.sin_port));
  acceptor_ = std::thread([this] { accept_all(); });
}

LoopbackServer::~LoopbackServer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    for (const Connection& connection : connections_) {
      if (connection.socket >= 0) ::shutdown(connection.socket, SHUT_RDWR);
    }
  }
  acceptor_.join();
  for (Connection& connection : connections_) connection.thread.join();
  ::close(listener_);
}

std::size_t LoopbackServer::connections() const {
  const std::lock_guard lock(mutex_);
  return accepted_;
}

void LoopbackServer::accept_all() {
  for (;;) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (socket < 0) return;
    join_finished();
    // Headers and body are sent by two calls; otherwise the second would wait for the acknowledgement of the first.
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);

    const std::lock_guard lock(mutex_);
    if (stopping_) {
      ::close(socket);
      return;
    }
    ++accepted_;
    Connection& connection = connections_.emplace_back();
    connection.socket = socket;
    connection.thread = std::thread([this, &connection] { serve(connection); });
  }
}

void LoopbackServer::serve(Connection& connection) {
  Stream stream([&] {
    const std::lock_guard lock(mutex_);
    return connection.socket;
  }());
  while (const auto head = stream.read_head()) {
    const auto request = parse_request(*head);
    if (!request || !stream.skip(request_body_size(*request))) break;
    const bool known = request->method == "GET" || request->method == "HEAD";
    if (!send_answer(stream, *request, known ? handler_(*request) : refused_method())) break;
    const auto wish = request->headers.find("connection");
    if (wish != request->headers.end() && lower_case(wish->second) == "close") break;
  }
  const std::lock_guard lock(mutex_);
  ::close(connection.socket);
  connection.socket = -1;
  connection.finished = true;
}

void LoopbackServer::join_finished() {
  std::list<Connection> finished;
  {
    const std::lock_guard lock(mutex_);
    for (auto next = connections_.begin(); next != connections_.end();) {
      const auto connection = next++;
      if (connection->finished) finished.splice(finished.end(), connections_, connection);
    }
  }
  for (Connection& connection : finished) connection.thread.join();
}

}  // namespace attention_plasticity
