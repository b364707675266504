#include "attention_plasticity/cli/signals.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>

namespace attention_plasticity {
namespace {

// A signal that was ignored when the program started (nohup, a shell's background job) stays ignored.
bool is_ignored(int signal) {
  struct sigaction action{};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

sigset_t ending_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    if (!is_ignored(signal)) sigaddset(&signals, signal);
  }
  return signals;
}

// Wakes the waiting thread, so that it sees that it is done. Programs ignore this signal by default.
constexpr int wake = SIGURG;

sigset_t awaited_signals() {
  sigset_t signals = ending_signals();
  sigaddset(&signals, wake);
  return signals;
}

}  // namespace

void prepare_standard_streams() {
  // Input is opened for writing and the others for reading, so that using them fails. open(2) takes the lowest number.
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const bool is_closed = ::fcntl(fd, F_GETFD) == -1;
    if (is_closed && ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) return;
  }
  // Unlike SIG_IGN, a handler is not inherited by programs that are started.
  if (!is_ignored(SIGPIPE)) std::signal(SIGPIPE, [](int) {});
}

bool is_reader_gone() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  if (is_ignored(SIGPIPE) || ::poll(&output, 1, 0) != 1) return false;
  return (static_cast<unsigned>(output.revents) & unsigned{POLLERR}) != 0;
}

StopOnSignal::StopOnSignal(std::function<void()> on_first) : on_first_(std::move(on_first)) {
  const sigset_t signals = awaited_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  waiter_ = std::jthread([this](const std::stop_token& done) { wait(done); });
}

StopOnSignal::~StopOnSignal() {
  waiter_.request_stop();
  pthread_kill(waiter_.native_handle(), wake);
  waiter_.join();
  const sigset_t signals = awaited_signals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

void StopOnSignal::wait(const std::stop_token& done) {
  const sigset_t signals = awaited_signals();
  while (!done.stop_requested()) {
    const int signal = ::sigwaitinfo(&signals, nullptr);
    if (signal <= 0 || signal == wake) continue;
    if (signal_ != 0 && (signal == SIGHUP || signal == SIGPIPE)) continue;
    if (signal_ == 0) {
      signal_ = signal;
      // Before the stop, so that what it says stands before all that others say when they stop.
      on_first_();
      stop_.request_stop();
      continue;
    }
    std::signal(signal, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    std::raise(signal);
  }
}

}  // namespace attention_plasticity
