#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attention_plasticity/base/atomic_file.h"
#include "attention_plasticity/cli/commands.h"
#include "attention_plasticity/cli/flag_text.h"
#include "attention_plasticity/cli/gnuplot_here.h"
#include "attention_plasticity/cli/plot_settings.h"
#include "attention_plasticity/cli/terminal.h"

namespace attention_plasticity {
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
      {"attention-plasticity plot plasticity out/base --against out/tuned -o curves.png",
       "The curves of two runs and their difference."},
  };
  return command;
}

int run_plot(const Arguments& arguments) {
  const PlotRequest request = plot_request(arguments);
  const Figure figure = draw_figure(request.figure, gnuplot_here());
  for (const std::string& note : figure.notes) tell_line(note);
  write_file_atomically(request.output, figure.image);
  print(fmt::format("{}\n", request.output));
  return 0;
}

}  // namespace attention_plasticity
