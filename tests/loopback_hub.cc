// A Hub on loopback, for tests of whole programs. It serves folders as branches of a dataset until SIGTERM or SIGINT
// arrives, or until its standard input closes, if that is a pipe. The first line of its output is the endpoint.
//
//   loopback_hub --repo ORG/NAME --revision NAME --folder DIR [--revision NAME --folder DIR]... --log FILE
//     --branch NAME          the same as --revision
//     --tag NAME             tags the branch that was given last
//     --token TOKEN          makes the repository private
//     --gated                makes the listing public; the files need the token
//     --page_size N          entries in a page of the listing
//     --slow BYTES           sends this number of bytes of each body per second
//     --fail STATUS[xN][@PART]            answers the next N (1) requests whose target holds PART (any) with STATUS
//     --drop_after BYTES[xN][@PART]       closes the next N bodies early; those of large files unless PART is given
//     --stall_after BYTES[xN][@PART]      likewise sends nothing more
//     --corrupt OFFSET[xN][@PART]         likewise changes the byte at OFFSET
//
// Files of 10 KiB and more are large. Each request adds a line to the log: METHOD HOST TARGET STATUS BYTES, where HOST
// is `api` or `storage`. The line is written before the last byte of the answer is sent.

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/hub/loopback_hub_testing.h"

namespace {

using namespace attention_plasticity;

constexpr std::size_t smallest_large_file = 10'240;

std::string read_bytes(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string bytes(std::filesystem::file_size(file), '\0');
  if (!stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) {
    throw std::runtime_error("cannot read " + file.string());
  }
  return bytes;
}

void add_folder(LoopbackHub& hub, const std::string& repo, const std::string& branch,
                const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::string content = read_bytes(entry.path());
    const bool large = content.size() >= smallest_large_file;
    hub.add_file(repo, branch, entry.path().lexically_relative(folder).generic_string(), std::move(content), large);
  }
}

std::size_t required_number(std::string_view text) {
  const auto number = parse_number(text);
  if (!number) throw std::runtime_error(fmt::format("'{}' is not a number", text));
  return *number;
}

/// NUMBER[xTIMES][@PART]
struct FaultFlag {
  std::size_t number = 0;
  std::size_t times = 1;
  HubRequestPattern requests;
};

FaultFlag parse_fault(std::string_view text) {
  FaultFlag flag;
  if (const auto at = text.find('@'); at != std::string_view::npos) {
    flag.requests.target_part = text.substr(at + 1);
    text = text.substr(0, at);
  }
  if (const auto x = text.find('x'); x != std::string_view::npos) {
    flag.times = required_number(text.substr(x + 1));
    text = text.substr(0, x);
  }
  flag.number = required_number(text);
  return flag;
}

/// A fault of a body: by default of a large file, which the storage serves.
FaultFlag parse_body_fault(std::string_view text) {
  FaultFlag flag = parse_fault(text);
  flag.requests.method = "GET";
  if (flag.requests.target_part.empty()) flag.requests.host = HubHost::storage;
  return flag;
}

struct Settings {
  std::string repo;
  std::string branch;
  std::string log;
  HubRepoOptions options;
};

void apply_flag(LoopbackHub& hub, Settings& settings, const std::string& flag, const std::string& value) {
  if (flag == "--repo") {
    settings.repo = value;
  } else if (flag == "--revision" || flag == "--branch") {
    settings.branch = value;
  } else if (flag == "--folder") {
    add_folder(hub, settings.repo, settings.branch, value);
  } else if (flag == "--tag") {
    hub.add_tag(settings.repo, value, settings.branch);
  } else if (flag == "--log") {
    settings.log = value;
  } else if (flag == "--token") {
    settings.options.token = value;
  } else if (flag == "--page_size") {
    settings.options.page_size = required_number(value);
  } else if (flag == "--slow") {
    hub.set_bytes_per_second(required_number(value));
  } else if (flag == "--fail") {
    const FaultFlag fault = parse_fault(value);
    hub.inject(fault.requests, refuse_with(static_cast<int>(fault.number)), fault.times);
  } else if (flag == "--drop_after" || flag == "--stall_after" || flag == "--corrupt") {
    const FaultFlag fault = parse_body_fault(value);
    hub.inject(fault.requests,
               flag == "--drop_after"    ? drop_after(fault.number)
               : flag == "--stall_after" ? stall_after(fault.number)
                                         : flip_byte(fault.number),
               fault.times);
  } else {
    throw std::runtime_error("no such flag: " + flag);
  }
}

Settings apply_flags(LoopbackHub& hub, const std::vector<std::string>& arguments) {
  Settings settings;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--gated") {
      settings.options.gated = true;
      continue;
    }
    if (i + 1 == arguments.size()) throw std::runtime_error("no value for " + arguments[i]);
    apply_flag(hub, settings, arguments[i], arguments[i + 1]);
    ++i;
  }
  if (settings.repo.empty() || settings.log.empty()) throw std::runtime_error("--repo and --log are needed");
  settings.options.is_private = !settings.options.token.empty() && !settings.options.gated;
  return settings;
}

/// Must be called before threads start, so that they inherit the mask.
int block_ending_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  return ::signalfd(-1, &signals, SFD_CLOEXEC);
}

void wait_for_end(int signals) {
  struct stat input{};
  const bool is_pipe = ::fstat(STDIN_FILENO, &input) == 0 && (S_ISFIFO(input.st_mode) || S_ISSOCK(input.st_mode));
  // Shells give background programs /dev/null as input, which is at its end from the start: only a pipe counts.
  pollfd watched[] = {{signals, POLLIN, 0}, {is_pipe ? STDIN_FILENO : -1, POLLIN, 0}};
  for (;;) {
    if (::poll(watched, 2, -1) < 0) continue;
    char ignored[256];
    if (watched[0].revents != 0) return;
    if (watched[1].revents != 0 && ::read(STDIN_FILENO, ignored, sizeof ignored) <= 0) return;
  }
}

}  // namespace

int main(int argument_count, char** arguments) {
  try {
    const int signals = block_ending_signals();
    std::ofstream log;  // must outlive the Hub, whose threads write to it
    LoopbackHub hub;
    const Settings settings = apply_flags(hub, {arguments + 1, arguments + argument_count});
    hub.set_options(settings.repo, settings.options);
    log.open(settings.log, std::ios::app);
    if (!log) throw std::runtime_error("cannot write " + settings.log);
    hub.on_ended([&log](const HubRequest& request) {
      log << fmt::format("{} {} {} {} {}\n", request.method, request.host == HubHost::api ? "api" : "storage",
                         request.target, request.status, request.body_bytes)
          << std::flush;
    });
    fmt::print("{}\n", hub.endpoint());
    std::fflush(stdout);
    wait_for_end(signals);
    return 0;
  } catch (const std::exception& failure) {
    fmt::print(stderr, "loopback_hub: {}\n", failure.what());
    return 2;
  }
}
