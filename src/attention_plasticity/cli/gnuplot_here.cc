#include "attention_plasticity/cli/gnuplot_here.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "attention_plasticity/cli/machine.h"

namespace attention_plasticity {
namespace {

// The first program of this name in PATH; empty: there is none.
std::filesystem::path program_in_path(std::string_view name) {
  const std::string path = environment_variable("PATH").value_or("");
  std::string_view folders = path;
  while (!folders.empty()) {
    const std::size_t end = std::min(folders.find(':'), folders.size());
    const std::filesystem::path file = std::filesystem::path(folders.substr(0, end)) / name;
    std::error_code unknown;
    if (std::filesystem::is_regular_file(file, unknown) && ::access(file.c_str(), X_OK) == 0) return file;
    folders.remove_prefix(std::min(end + 1, folders.size()));
  }
  return {};
}

}  // namespace

// gnuplot gets only those of the user's variables that it needs to find fonts and libraries. Others, such as the
// locale, could change a figure.
Gnuplot gnuplot_here() {
  Gnuplot gnuplot{program_in_path("gnuplot"), {"LC_ALL=C.UTF-8"}};
  for (const char* name : {"HOME", "PATH", "LD_LIBRARY_PATH", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
                           "FONTCONFIG_FILE", "FONTCONFIG_PATH"}) {
    if (const std::string value = environment_variable(name).value_or(""); !value.empty()) {
      gnuplot.environment.push_back(fmt::format("{}={}", name, value));
    }
  }
  return gnuplot;
}

}  // namespace attention_plasticity
