#include "program_support.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "attention_plasticity/synth/synthetic_dump.h"
#include "places.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// Many times what the slowest run needs: machines are busy, and sanitized programs ten times as slow.
constexpr auto longest_silence = std::chrono::seconds(240);

[[noreturn]] void fail(const char* what) { throw std::runtime_error(what); }

// The end that the program writes to, and the end that the test reads from (-1: nothing is read).
struct Channel {
  int program = -1;
  int test = -1;
};

Channel make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("no pipe");
  return {ends[1], ends[0]};
}

Channel make_file(const std::string& file) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) fail("the file for the program's output cannot be opened");
  return {fd, -1};
}

// The terminal is raw: it puts no \r before \n, so that the test reads the bytes as the program wrote them.
Channel make_terminal(int columns) {
  termios raw{};
  ::cfmakeraw(&raw);
  winsize size{};
  size.ws_row = 24;
  size.ws_col = static_cast<unsigned short>(columns);
  Channel channel;
  if (::openpty(&channel.test, &channel.program, nullptr, &raw, &size) != 0) fail("no terminal");
  for (const int fd : {channel.test, channel.program}) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return channel;
}

Channel standard_output(const Surroundings& surroundings) {
  if (surroundings.output_columns > 0) return make_terminal(surroundings.output_columns);
  Channel channel = surroundings.out.empty() ? make_pipe() : make_file(surroundings.out);
  if (surroundings.reader_leaves) ::close(std::exchange(channel.test, -1));
  return channel;
}

Channel standard_error(const Surroundings& surroundings) {
  if (surroundings.terminal_columns > 0) return make_terminal(surroundings.terminal_columns);
  return surroundings.err.empty() ? make_pipe() : make_file(surroundings.err);
}

std::vector<std::string> environment_of(const Surroundings& surroundings) {
  // When a name occurs twice, some programs take the first variable and some the last.
  std::vector<std::string> variables;
  const auto add = [&](std::string_view variable) {
    const std::string_view name = variable.substr(0, variable.find('=') + 1);
    if (std::ranges::any_of(variables, [&](const std::string& known) { return known.starts_with(name); })) return;
    variables.emplace_back(variable);
  };
  for (const std::string& variable : surroundings.environment) add(variable);
  add("TERM=xterm");
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("NO_COLOR=")) add(*variable);
  }
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Appends the available bytes. Returns false at the end, which a terminal reports as EIO.
bool read_some(int fd, std::string& text) {
  std::array<char, 4096> buffer{};
  const ssize_t got = ::read(fd, buffer.data(), buffer.size());
  if (got < 0 && errno == EINTR) return true;
  if (got <= 0) return false;
  text.append(buffer.data(), static_cast<std::size_t>(got));
  return true;
}

}  // namespace

RunningProgram::RunningProgram(const std::vector<std::string>& arguments, const Surroundings& surroundings) {
  const std::string program = surroundings.program.empty() ? built_program() : surroundings.program;
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment_of(surroundings);
  const std::vector<char*> argv = pointers_to(words);
  const std::vector<char*> envp = pointers_to(variables);
  const Channel out = standard_output(surroundings);
  const Channel err = standard_error(surroundings);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  pid_ = ::fork();
  if (pid_ < 0 || nothing < 0) fail("no process");
  if (pid_ == 0) {
    // The program does not inherit ignored signals, such as a SIGINT that a shell ignores.
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_DFL);
    const bool ready = ::chdir(surroundings.folder.c_str()) == 0 && ::dup2(nothing, STDIN_FILENO) >= 0 &&
                       ::dup2(out.program, STDOUT_FILENO) >= 0 && ::dup2(err.program, STDERR_FILENO) >= 0;
    if (ready) ::execve(program.c_str(), argv.data(), envp.data());
    ::_exit(127);
  }
  for (const int fd : {nothing, out.program, err.program}) ::close(fd);
  out_ = out.test;
  err_ = err.test;
}

RunningProgram::~RunningProgram() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  for (const int fd : {out_, err_}) {
    if (fd >= 0) ::close(fd);
  }
}

void RunningProgram::pump(const std::string& until) {
  const auto deadline = Clock::now() + longest_silence;
  while (out_ >= 0 || err_ >= 0) {
    if (!until.empty() && outcome_.err.find(until) != std::string::npos) return;
    std::array<pollfd, 2> ends{pollfd{out_, POLLIN, 0}, pollfd{err_, POLLIN, 0}};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) fail("the program hangs");
    if (::poll(ends.data(), ends.size(), static_cast<int>(left)) < 0 && errno != EINTR) fail("cannot wait");
    if (ends[0].revents != 0 && !read_some(out_, outcome_.out)) ::close(std::exchange(out_, -1));
    if (ends[1].revents != 0 && !read_some(err_, outcome_.err)) ::close(std::exchange(err_, -1));
  }
}

void RunningProgram::wait_for(const std::string& text) { pump(text); }

void RunningProgram::send(int signal) const { ::kill(pid_, signal); }

Outcome RunningProgram::finish() {
  pump("");
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (WIFEXITED(status)) outcome_.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome_.signal = WTERMSIG(status);
  return outcome_;
}

Outcome run_program(const std::vector<std::string>& arguments, const Surroundings& surroundings) {
  return RunningProgram(arguments, surroundings).finish();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string first_line(const std::string& text) {
  const std::vector<std::string> lines = lines_of(text);
  return lines.empty() ? "" : lines.front();
}

std::string last_line(const std::string& text) {
  const std::vector<std::string> lines = lines_of(text);
  return lines.empty() ? "" : lines.back();
}

std::vector<std::string> lines_starting(const std::string& text, const std::string& start) {
  std::vector<std::string> lines = lines_of(text);
  std::erase_if(lines, [&](const std::string& line) { return !line.starts_with(start); });
  return lines;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

bool is_plain_text(const std::string& text) {
  return std::ranges::none_of(text, [](unsigned char c) { return (c < 0x20 && c != '\n') || c == 0x7f; });
}

std::vector<std::string> analyze_words(const fs::path& dump, const std::vector<std::string>& others) {
  std::vector<std::string> words{"analyze", "--dataset_local_root", dump.string()};
  words.insert(words.end(), others.begin(), others.end());
  return words;
}

void ProgramTest::SetUpTestSuite() {
  shared_ = std::make_unique<TemporaryFolder>();
  SynthOptions options;
  options.rows = 120;
  options.dim = 8;
  options.examples = 4;
  options.buckets = 4;
  options.bucket_size = 16;
  options.truth_pairs = 0;
  write_synthetic_dump(dump(), options);
}

void ProgramTest::TearDownTestSuite() { shared_.reset(); }

Outcome ProgramTest::run(const std::vector<std::string>& arguments, Surroundings surroundings) const {
  if (surroundings.folder.empty()) surroundings.folder = here_.path();
  return run_program(arguments, surroundings);
}

Outcome ProgramTest::analyze(const std::vector<std::string>& flags, const Surroundings& surroundings) const {
  return run(analyze_words(dump(), flags), surroundings);
}

}  // namespace attention_plasticity
