#include "attention_plasticity/cli/engine_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <utility>

#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

constexpr int look_ms = 100;  // between looks at whether a stop was requested

[[noreturn]] void fail_to_start(const std::string& program, int error) {
  throw Error(ErrorKind::input, fmt::format("cannot be started: {}", std::strerror(error)), program);
}

struct Pipe {
  std::array<int, 2> ends{-1, -1};

  explicit Pipe(const std::string& program) {
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail_to_start(program, errno);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    for (const int end : ends) {
      if (end >= 0) ::close(end);
    }
  }
  int take(std::size_t end) { return std::exchange(ends.at(end), -1); }
};

// Of a group of its own, so that Ctrl-C reaches this program alone, which then asks the process to stop; and with
// signals as a program expects them.
pid_t spawn(std::vector<std::string>& words, int in, int out) {
  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawnattr_t attributes{};
  ::posix_spawnattr_init(&attributes);
  sigset_t none{};
  ::sigemptyset(&none);
  sigset_t usual = none;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::sigaddset(&usual, signal);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &usual);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, argv.front(), &actions, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) fail_to_start(words.front(), error);
  return pid;
}

ErrorKind kind_of(int code) {
  for (const ErrorKind kind :
       {ErrorKind::usage, ErrorKind::input, ErrorKind::access, ErrorKind::network, ErrorKind::output}) {
    if (exit_code(kind) == code) return kind;
  }
  return ErrorKind::network;
}

[[noreturn]] void throw_told(const Json& told) {
  throw Error(kind_of(told.at("exit_code").get<int>()), told.at("line").get<std::string>(),
              told.at("file").get<std::string>());
}

}  // namespace

EngineProcess::Child::Child(std::vector<std::string> words) {
  const std::string program = words.front();
  Pipe in(program);
  Pipe out(program);
  pid = spawn(words, in.ends[0], out.ends[1]);
  to = in.take(1);
  from = out.take(0);
}

EngineProcess::Child::~Child() {
  ::close(to);
  ::close(from);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
}

EngineProcess::EngineProcess(std::vector<std::string> words, const std::stop_token& stop) : words_(std::move(words)) {
  start(stop);
}

void EngineProcess::start(const std::stop_token& stop) {
  child_ = std::make_unique<Child>(words_);
  buffer_.clear();
  const std::optional<Message> first = receive(stop, false);
  if (!first) throw_stopped();
  if (first->head.at("told") == "error") throw_told(first->head);
}

void EngineProcess::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = ::write(child_->to, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw Error(ErrorKind::network, fmt::format("the engine has ended: {}", std::strerror(errno)));
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Reads more. False when a stop was requested first.
bool EngineProcess::fill(const std::stop_token& stop, bool waits) {
  while (true) {
    if (!waits && stop.stop_requested()) return false;
    pollfd ready{child_->from, POLLIN, 0};
    if (::poll(&ready, 1, look_ms) <= 0) continue;
    std::array<char, 65536> piece{};
    const ssize_t got = ::read(child_->from, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw Error(ErrorKind::network, "the engine ended without a word; its own lines stand above");
    buffer_.append(piece.data(), static_cast<std::size_t>(got));
    return true;
  }
}

std::optional<EngineProcess::Message> EngineProcess::receive(const std::stop_token& stop, bool waits) {
  std::size_t end = 0;
  while ((end = buffer_.find('\n')) == std::string::npos) {
    if (!fill(stop, waits)) return std::nullopt;
  }
  Message message{parse_json_object<Json>(buffer_.substr(0, end), {.subject = "the engine"}), {}};
  buffer_.erase(0, end + 1);
  const std::size_t size = message.head.value("bytes", std::size_t{0});
  while (buffer_.size() < size) fill({}, true);
  message.bytes = buffer_.substr(0, size);
  buffer_.erase(0, size);
  return message;
}

void EngineProcess::measure(const EngineWork& work, const EngineReceiver& receiver, const std::stop_token& stop) {
  if (!child_) start(stop);
  bool has_told_all = false;
  const std::shared_ptr<void> ended(nullptr, [&](void*) {
    if (!has_told_all) child_.reset();
  });
  Json groups = Json::array();
  for (const KvGroup& group : work.groups) {
    Json heads = Json::array();
    for (const HeadId& head : group.heads) heads.push_back({head.layer, head.q_head, head.k_head});
    groups.push_back({{"heads", std::move(heads)}, {"memory", group.bytes}});
  }
  const Json request{{"do", "measure"},
                     {"groups", std::move(groups)},
                     {"most_at_a_time", value_or_null(work.most_at_a_time)},
                     {"bytes", work.manifest.size()}};
  send(json_text(request) + "\n" + work.manifest);
  bool is_stopping = false;
  while (true) {
    const std::optional<Message> message = receive(stop, is_stopping);
    if (!message) {
      send(json_text(Json{{"do", "stop"}}) + "\n");
      is_stopping = true;
      continue;
    }
    const Json& head = message->head;
    const auto told = head.at("told").get<std::string>();
    const auto line = head.value("line", std::string());
    has_told_all = told == "done" || told == "error";
    if (told == "done") return;
    if (told == "error") throw_told(head);
    if (told == "measured") receiver.measured(head.at("group").get<std::size_t>(), message->bytes);
    if (told == "failed") receiver.failed(head.at("group").get<std::size_t>(), line);
    if (told == "note") receiver.note(line);
    if (told == "warning") receiver.warning(line);
  }
}

}  // namespace attention_plasticity
