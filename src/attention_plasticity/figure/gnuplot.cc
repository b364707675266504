#include "attention_plasticity/figure/gnuplot.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

[[noreturn]] void fail(const std::string& message) { throw Error(ErrorKind::output, message); }

[[noreturn]] void fail_by_system(std::string_view doing, int error) {
  fail(fmt::format("cannot {}: {}", doing, std::strerror(error)));
}

// A file in memory, without a name. Unlike with a pipe, neither side waits for the other, and no pipe can break.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : fd_(::memfd_create(name, MFD_CLOEXEC)) {
    if (fd_ < 0) fail_by_system("talk to gnuplot", errno);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(fd_); }

  int get() const { return fd_; }

  void write(std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = ::write(fd_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail_by_system("hand gnuplot its script", errno);
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    ::lseek(fd_, 0, SEEK_SET);
  }

  std::string read_all() {
    ::lseek(fd_, 0, SEEK_SET);
    std::string text;
    std::array<char, 65536> buffer{};
    while (true) {
      const ssize_t got = ::read(fd_, buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail_by_system("read what gnuplot drew", errno);
      if (got == 0) return text;
      text.append(buffer.data(), static_cast<std::size_t>(got));
    }
  }

 private:
  int fd_;
};

class SpawnActions {
 public:
  SpawnActions() { ::posix_spawn_file_actions_init(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  ~SpawnActions() { ::posix_spawn_file_actions_destroy(&actions_); }

  void redirect(int from, int to) { ::posix_spawn_file_actions_adddup2(&actions_, from, to); }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Returns the status from waitpid.
int run_to_end(const Gnuplot& gnuplot, const SpawnActions& actions) {
  std::vector<std::string> words{gnuplot.program.string(), "--default-settings"};
  std::vector<std::string> variables = gnuplot.environment;
  const std::vector<char*> argv = pointers_to(words);
  const std::vector<char*> envp = pointers_to(variables);
  pid_t pid = -1;
  if (const int error = ::posix_spawn(&pid, words.front().c_str(), actions.get(), nullptr, argv.data(), envp.data())) {
    fail_by_system(fmt::format("run {}", shown_text(words.front())), error);
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) fail_by_system("wait for gnuplot", errno);
  }
  return status;
}

// The lines of a text without surrounding blanks; empty lines are left out.
std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed_text(text.substr(0, end));
    if (!line.empty()) lines.push_back(shown_text(line));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

GnuplotOutput run_gnuplot(const Gnuplot& gnuplot, const std::string& script) {
  if (gnuplot.program.empty()) {
    fail("figures are drawn by gnuplot, which is not installed; on Debian: apt-get install gnuplot-nox");
  }
  MemoryFile in("script");
  MemoryFile out("image");
  MemoryFile err("messages");
  in.write(script);
  SpawnActions actions;
  actions.redirect(in.get(), STDIN_FILENO);
  actions.redirect(out.get(), STDOUT_FILENO);
  actions.redirect(err.get(), STDERR_FILENO);
  const int status = run_to_end(gnuplot, actions);
  GnuplotOutput output{out.read_all(), lines_of(err.read_all())};
  if (WIFSIGNALED(status)) fail(fmt::format("gnuplot was ended by signal {}", WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0) {
    // gnuplot prints the faulty line, a pointer into it, and last what is wrong.
    fail(fmt::format("gnuplot failed (exit code {}): {}", WEXITSTATUS(status),
                     output.notes.empty() ? "it did not say why" : output.notes.back()));
  }
  return output;
}

}  // namespace attention_plasticity
