// A library for LD_PRELOAD that lets one input call of a program fail. Input calls are those that look at, open, list
// or read what lies in one folder. They are numbered from 1.
//
//   AP_INPUT_FOLDER  the folder, an absolute path without links
//   AP_INPUT_LOG     a file that gets the name of each input call, a line each
//   AP_INPUT_AT      the input call that fails, with EIO
//   AP_INPUT_SHORT   1: that call, if it reads, gives a byte less instead

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

long number(const char* name) { return std::atol(variable(name)); }

void note(const char* file, const char* text, size_t size) {
  if (*file == '\0') return;
  const long fd = ::syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (fd < 0) return;
  ::syscall(SYS_write, fd, text, size);
  ::syscall(SYS_close, fd);
}

std::atomic<long> inputs = 0;
std::array<std::atomic<bool>, 4096> is_input{};  // by descriptor

// Whether the call fails by reading too little.
bool is_short() {
  static const bool is_set = number("AP_INPUT_SHORT") == 1;
  return is_set;
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

bool is_below(const char* path) {
  static const char* const folder = variable("AP_INPUT_FOLDER");
  static const size_t size = std::strlen(folder);
  return size > 0 && std::strncmp(path, folder, size) == 0 && (path[size] == '\0' || path[size] == '/');
}

bool is_input_file(int fd) {
  return fd >= 0 && static_cast<size_t>(fd) < is_input.size() && is_input[static_cast<size_t>(fd)];
}

bool fails(const char* name) {
  static const long at = number("AP_INPUT_AT");
  const long count = ++inputs;
  std::array<char, 64> line{};
  const int size = std::snprintf(line.data(), line.size(), "%s\n", name);
  note(variable("AP_INPUT_LOG"), line.data(), static_cast<size_t>(size));
  if (count != at) return false;
  errno = EIO;
  return true;
}

template <class Open>
int opened(const char* path, int flags, const Open& open) {
  const bool counts = (flags & (O_CREAT | O_WRONLY | O_RDWR)) == 0 && is_below(path);
  if (counts && !is_short() && fails("open")) return -1;
  const int fd = open();
  if (fd >= 0 && static_cast<size_t>(fd) < is_input.size()) is_input[static_cast<size_t>(fd)] = counts;
  return fd;
}

// A read that gives one byte less than it might, or fails.
template <class Read>
ssize_t reading(int fd, const char* name, size_t size, const Read& read) {
  if (!is_input_file(fd) || !fails(name)) return read(size);
  if (is_short()) return read(size > 1 ? size - 1 : size);
  return -1;
}

}  // namespace

#define OPEN(name)                                                                                          \
  int name(const char* path, int flags, ...) {                                                              \
    va_list arguments;                                                                                      \
    va_start(arguments, flags);                                                                             \
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;                             \
    va_end(arguments);                                                                                      \
    return opened(path, flags, [&] { return next<int(const char*, int, ...)>(#name)(path, flags, mode); }); \
  }
#define OPENAT(name)                                                                                        \
  int name(int folder, const char* path, int flags, ...) {                                                  \
    va_list arguments;                                                                                      \
    va_start(arguments, flags);                                                                             \
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;                             \
    va_end(arguments);                                                                                      \
    return opened(path, flags,                                                                              \
                  [&] { return next<int(int, const char*, int, ...)>(#name)(folder, path, flags, mode); }); \
  }
#define STAT(name)                                                    \
  int name(const char* path, struct stat* status) noexcept {          \
    if (!is_short() && is_below(path) && fails(#name)) return -1;     \
    return next<int(const char*, struct stat*)>(#name)(path, status); \
  }
#define PREAD(name)                                                                    \
  ssize_t name(int fd, void* bytes, size_t size, off_t offset) {                       \
    return reading(fd, "pread", size, [&](size_t most) {                               \
      return next<ssize_t(int, void*, size_t, off_t)>(#name)(fd, bytes, most, offset); \
    });                                                                                \
  }

#pragma GCC visibility push(default)
extern "C" {

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
STAT(stat)
STAT(lstat)

int fstat(int fd, struct stat* status) noexcept {
  if (!is_short() && is_input_file(fd) && fails("fstat")) return -1;
  return next<int(int, struct stat*)>("fstat")(fd, status);
}

ssize_t read(int fd, void* bytes, size_t size) {
  return reading(fd, "read", size,
                 [&](size_t most) { return next<ssize_t(int, void*, size_t)>("read")(fd, bytes, most); });
}

PREAD(pread)
PREAD(pread64)

DIR* opendir(const char* path) {
  if (!is_short() && is_below(path) && fails("opendir")) return nullptr;
  return next<DIR*(const char*)>("opendir")(path);
}

int close(int fd) {
  if (fd >= 0 && static_cast<size_t>(fd) < is_input.size()) is_input[static_cast<size_t>(fd)] = false;
  return next<int(int)>("close")(fd);
}

}  // extern "C"
#pragma GCC visibility pop
