// A library for LD_PRELOAD that lets one input call of a program fail, or one of its allocations. Input calls are those
// that look at, open, list or read what lies in one folder. Both are numbered from 1.
//
//   AP_INPUT_FOLDER  the folder, an absolute path without links
//   AP_INPUT_LOG     a file that gets the name of each input call, a line each
//   AP_INPUT_AT      the input call that fails, with EIO
//   AP_INPUT_SHORT   1: that call, if it reads, gives a byte less instead
//   AP_MEMORY_LOG    a file that gets the number of allocations when the program ends
//   AP_MEMORY_AT     the allocation that fails, counted from the start of main(): what libraries do before is exempt
//   AP_MEMORY_COUNT  the number of allocations that fail from there on; 1 unless given

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// The allocator behind malloc: looking it up with dlsym would allocate.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
}

namespace {

// Plain numbers and pointers: nothing here may allocate.
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

// Allocations. The count starts with main().
std::atomic<bool> counts_memory = false;
std::atomic<long> allocations = 0;
long memory_at = 0;
long memory_count = 1;

bool lacks_memory() {
  if (!counts_memory) return false;
  const long count = ++allocations;
  if (memory_at == 0 || count < memory_at || count >= memory_at + memory_count) return false;
  errno = ENOMEM;
  return true;
}

// Input calls.
std::atomic<long> inputs = 0;
std::array<std::atomic<bool>, 4096> is_input{};  // by descriptor
bool is_short = false;                           // the call fails by reading too little

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
  if (counts && !is_short && fails("open")) return -1;
  const int fd = open();
  if (fd >= 0 && static_cast<size_t>(fd) < is_input.size()) is_input[static_cast<size_t>(fd)] = counts;
  return fd;
}

// A read that gives one byte less than it might, or fails.
template <class Read>
ssize_t reading(int fd, const char* name, size_t size, const Read& read) {
  if (!is_input_file(fd) || !fails(name)) return read(size);
  if (is_short) return read(size > 1 ? size - 1 : size);
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
    if (!is_short && is_below(path) && fails(#name)) return -1;       \
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

void* malloc(size_t size) noexcept { return lacks_memory() ? nullptr : __libc_malloc(size); }

void* calloc(size_t count, size_t size) noexcept { return lacks_memory() ? nullptr : __libc_calloc(count, size); }

void* realloc(void* memory, size_t size) noexcept { return lacks_memory() ? nullptr : __libc_realloc(memory, size); }

void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return lacks_memory() ? nullptr : __libc_memalign(alignment, size);
}

void* memalign(size_t alignment, size_t size) noexcept {
  return lacks_memory() ? nullptr : __libc_memalign(alignment, size);
}

int posix_memalign(void** memory, size_t alignment, size_t size) noexcept {
  if (lacks_memory()) return ENOMEM;
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
STAT(stat)
STAT(lstat)

int fstat(int fd, struct stat* status) noexcept {
  if (!is_short && is_input_file(fd) && fails("fstat")) return -1;
  return next<int(int, struct stat*)>("fstat")(fd, status);
}

ssize_t read(int fd, void* bytes, size_t size) {
  return reading(fd, "read", size,
                 [&](size_t most) { return next<ssize_t(int, void*, size_t)>("read")(fd, bytes, most); });
}

PREAD(pread)
PREAD(pread64)

DIR* opendir(const char* path) {
  if (!is_short && is_below(path) && fails("opendir")) return nullptr;
  return next<DIR*(const char*)>("opendir")(path);
}

int close(int fd) {
  if (fd >= 0 && static_cast<size_t>(fd) < is_input.size()) is_input[static_cast<size_t>(fd)] = false;
  return next<int(int)>("close")(fd);
}

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(), void (*fini)(),
                      void (*rtld_fini)(), void* stack_end) {
  using Main = int (*)(int, char**, char**);
  static Main program = nullptr;
  program = main;
  memory_at = number("AP_MEMORY_AT");
  memory_count = std::max(1L, number("AP_MEMORY_COUNT"));
  is_short = number("AP_INPUT_SHORT") == 1;
  const auto counting = [](int count, char** words, char** environment) {
    counts_memory = true;
    const int code = program(count, words, environment);
    counts_memory = false;
    std::array<char, 32> line{};
    const int size = std::snprintf(line.data(), line.size(), "%ld\n", allocations.load());
    note(variable("AP_MEMORY_LOG"), line.data(), static_cast<size_t>(size));
    return code;
  };
  using Start = int(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
  return next<Start>("__libc_start_main")(counting, argc, argv, init, fini, rtld_fini, stack_end);
}

}  // extern "C"
#pragma GCC visibility pop
