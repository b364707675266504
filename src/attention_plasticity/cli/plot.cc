#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "attention_plasticity/base/atomic_file.h"
#include "attention_plasticity/cli/commands.h"
#include "attention_plasticity/cli/machine.h"
#include "attention_plasticity/cli/plot_settings.h"
#include "attention_plasticity/cli/terminal.h"

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

}  // namespace

Command plot_command() {
  Command command{"plot",
                  fmt::format("{} RESULTS", fmt::join(figure_words(), "|")),
                  "Draw a figure of a run's tables: PNG, SVG or PDF.",
                  {config_flag("YAML file with any of the fields below; flags win over it.")}};
  static constexpr FieldGroup groups[]{{"results", "The table"},
                                       {"output", "The figure"},
                                       {"alpha", "The lines of heads"},
                                       {"cmap", "The colours"},
                                       {"title", "Text, size and style"}};
  const std::vector<Field> fields = with_groups(plot_fields(), groups);
  command.flags.insert(command.flags.end(), fields.begin(), fields.end());
  command.examples = {
      {"attention-plasticity plot heads out/mine --column ap_exact -o heads.pdf", "A map of all heads."},
      {"attention-plasticity plot distance out/mine", "Plasticity by the distances of the two keys."},
  };
  return command;
}

int run_plot(const Arguments& arguments) {
  const PlotRequest request = plot_request(arguments);
  const Figure figure = draw_figure(request.figure, gnuplot_here());
  for (const std::string& note : figure.notes) tell(note + "\n");
  write_file_atomically(request.output, figure.image);
  fmt::print("{}\n", request.output);
  return 0;
}

}  // namespace attention_plasticity
