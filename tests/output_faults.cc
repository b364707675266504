// A library for LD_PRELOAD that lets the n-th output call of a program fail. Output calls are those that create, write,
// flush, close, lock, link, rename or remove what lies in one folder, that folder included. They are numbered from 1.
//
//   AP_FAULT_FOLDER  the folder, an absolute path without links
//   AP_FAULT_LOG     a file that gets the name of each call, a line each
//   AP_FAULT_AT      the call that fails
//   AP_FAULT_ERRNO   the error number that it fails with; 0: the process is killed just before the call
//   AP_FAULT_LASTS   1: later calls fail too, but those that remove, close or unlock
//   AP_REFUSED       a name: all calls of this name fail, as on file systems that do not have them
//   AP_REFUSED_ERRNO the error number that they fail with
//   AP_HOLD_AT       calls before which the process waits, such as 1,7: before the i-th of them it creates
//                    `<AP_HOLD_NAME>.i.held` and goes on when `<AP_HOLD_NAME>.i.go` exists
//   AP_PID           what getpid() says
//
// fsync succeeds at once: what a test sees does not depend on it.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

struct Settings {
  std::string folder = variable("AP_FAULT_FOLDER");
  std::string log = variable("AP_FAULT_LOG");
  std::string hold_name = variable("AP_HOLD_NAME");
  std::string refused = variable("AP_REFUSED");
  int refused_error = std::atoi(variable("AP_REFUSED_ERRNO").c_str());
  int at = std::atoi(variable("AP_FAULT_AT").c_str());
  int error = std::atoi(variable("AP_FAULT_ERRNO").c_str());
  bool lasts = variable("AP_FAULT_LASTS") == "1";
  std::vector<int> holds;

  Settings() {
    const std::string list = variable("AP_HOLD_AT");
    for (std::size_t begin = 0; begin < list.size();) {
      holds.push_back(std::atoi(list.c_str() + begin));
      begin = std::min(list.find(',', begin), list.size() - 1) + 1;
    }
  }
};

const Settings& settings() {
  static const Settings settings;
  return settings;
}

std::atomic<int> calls = 0;
std::array<std::atomic<bool>, 4096> is_output{};  // by descriptor

bool is_known(int fd) { return fd >= 0 && static_cast<std::size_t>(fd) < is_output.size(); }

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

bool is_below(const std::string& path) {
  const std::string& folder = settings().folder;
  return !folder.empty() && path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

bool is_below(int folder, const char* path) {
  if (path[0] == '/' || folder == AT_FDCWD) return is_below(path);
  std::array<char, 4096> name{};
  const ssize_t length = ::readlink(("/proc/self/fd/" + std::to_string(folder)).c_str(), name.data(), name.size());
  return length > 0 && is_below(std::string(name.data(), static_cast<std::size_t>(length)));
}

void note(const std::string& file, const std::string& text) {
  const long fd = ::syscall(SYS_openat, AT_FDCWD, file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (fd < 0) return;
  ::syscall(SYS_write, fd, text.data(), text.size());
  ::syscall(SYS_close, fd);
}

void hold(std::size_t which) {
  const std::string name = settings().hold_name + "." + std::to_string(which + 1);
  note(name + ".held", "");
  while (::access((name + ".go").c_str(), F_OK) != 0) ::usleep(2000);
}

// Counts a call. True: it is to fail, and errno is set.
bool fails(const char* name, bool ends_something = false) {
  const int number = ++calls;
  if (!settings().log.empty()) note(settings().log, std::string(name) + "\n");
  for (std::size_t i = 0; i < settings().holds.size(); ++i) {
    if (settings().holds[i] == number) hold(i);
  }
  const bool is_killed_here = number == settings().at && settings().error == 0;
  if (settings().refused == name && !is_killed_here) {
    errno = settings().refused_error;
    return true;
  }
  const bool later = settings().lasts && number > settings().at && !ends_something;
  if (settings().at == 0 || (number != settings().at && !later)) return false;
  if (settings().error == 0) ::kill(static_cast<pid_t>(::syscall(SYS_getpid)), SIGKILL);
  errno = settings().error;
  return true;
}

template <class Function>
int opened(const char* path, int folder, int flags, const Function& open) {
  const bool counts = (flags & (O_CREAT | O_DIRECTORY)) != 0 && is_below(folder, path);
  if (counts && fails("open")) return -1;
  const int fd = open();
  if (is_known(fd)) is_output[static_cast<std::size_t>(fd)] = counts;
  return fd;
}

mode_t mode_of(int flags, va_list arguments) { return (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0; }

bool is_output_file(int fd) { return is_known(fd) && is_output[static_cast<std::size_t>(fd)]; }

}  // namespace

#define OPEN(name)                                                                                                    \
  int name(const char* path, int flags, ...) {                                                                        \
    va_list arguments;                                                                                                \
    va_start(arguments, flags);                                                                                       \
    const mode_t mode = mode_of(flags, arguments);                                                                    \
    va_end(arguments);                                                                                                \
    return opened(path, AT_FDCWD, flags, [&] { return next<int(const char*, int, ...)>(#name)(path, flags, mode); }); \
  }
#define OPENAT(name)                                                                                        \
  int name(int folder, const char* path, int flags, ...) {                                                  \
    va_list arguments;                                                                                      \
    va_start(arguments, flags);                                                                             \
    const mode_t mode = mode_of(flags, arguments);                                                          \
    va_end(arguments);                                                                                      \
    return opened(path, folder, flags,                                                                      \
                  [&] { return next<int(int, const char*, int, ...)>(#name)(folder, path, flags, mode); }); \
  }

#pragma GCC visibility push(default)
extern "C" {

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int fd, const void* bytes, size_t size) {
  if (is_output_file(fd) && fails("write")) return -1;
  return next<ssize_t(int, const void*, size_t)>("write")(fd, bytes, size);
}

int fsync(int fd) {
  if (is_output_file(fd) && fails("fsync")) return -1;
  return 0;
}

int close(int fd) {
  const bool fail = is_known(fd) && is_output[static_cast<std::size_t>(fd)].exchange(false) && fails("close", true);
  const int error = errno;
  const int result = next<int(int)>("close")(fd);  // as on Linux, which closes it even where it fails
  if (!fail) return result;
  errno = error;
  return -1;
}

int flock(int fd, int operation) noexcept {
  if (is_output_file(fd) && fails("flock", true)) return -1;
  return next<int(int, int)>("flock")(fd, operation);
}

int fchmod(int fd, mode_t mode) noexcept {
  if (is_output_file(fd) && fails("fchmod")) return -1;
  return next<int(int, mode_t)>("fchmod")(fd, mode);
}

int chmod(const char* path, mode_t mode) noexcept {
  if (is_below(path) && fails("chmod")) return -1;
  return next<int(const char*, mode_t)>("chmod")(path, mode);
}

int fchown(int fd, uid_t user, gid_t group) noexcept {
  if (is_output_file(fd) && fails("fchown")) return -1;
  return next<int(int, uid_t, gid_t)>("fchown")(fd, user, group);
}

int mkdir(const char* path, mode_t mode) noexcept {
  if (is_below(path) && fails("mkdir")) return -1;
  return next<int(const char*, mode_t)>("mkdir")(path, mode);
}

int rename(const char* from, const char* to) noexcept {
  if ((is_below(from) || is_below(to)) && fails("rename")) return -1;
  return next<int(const char*, const char*)>("rename")(from, to);
}

int link(const char* from, const char* to) noexcept {
  if (is_below(to) && fails("link")) return -1;
  return next<int(const char*, const char*)>("link")(from, to);
}

int symlink(const char* text, const char* path) noexcept {
  if (is_below(path) && fails("symlink")) return -1;
  return next<int(const char*, const char*)>("symlink")(text, path);
}

int unlink(const char* path) noexcept {
  if (is_below(path) && fails("unlink", true)) return -1;
  return next<int(const char*)>("unlink")(path);
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  if (is_below(folder, path) && fails("unlinkat", true)) return -1;
  return next<int(int, const char*, int)>("unlinkat")(folder, path, flags);
}

int rmdir(const char* path) noexcept {
  if (is_below(path) && fails("rmdir", true)) return -1;
  return next<int(const char*)>("rmdir")(path);
}

int remove(const char* path) noexcept {
  if (is_below(path) && fails("remove", true)) return -1;
  return next<int(const char*)>("remove")(path);
}

pid_t getpid() noexcept {
  const char* pid = std::getenv("AP_PID");
  return pid != nullptr ? std::atoi(pid) : static_cast<pid_t>(::syscall(SYS_getpid));
}

}  // extern "C"
#pragma GCC visibility pop
