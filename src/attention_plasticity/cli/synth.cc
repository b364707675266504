#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "attention_plasticity/base/error.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/cli/commands.h"
#include "attention_plasticity/cli/progress.h"
#include "attention_plasticity/run/config_value.h"
#include "attention_plasticity/synth/options.h"
#include "attention_plasticity/synth/synthetic_dump.h"

namespace attention_plasticity {
namespace {

int count(std::string_view text) { return static_cast<int>(config_integer(text, 1, std::numeric_limits<int>::max())); }

std::size_t size(std::string_view text) {
  return static_cast<std::size_t>(config_integer(text, 0, std::numeric_limits<std::int64_t>::max()));
}

double number(std::string_view text) {
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || !std::isfinite(value)) {
    throw Error(ErrorKind::usage, fmt::format("{} is not a number", shown_text(text)));
  }
  return value;
}

// An option of SynthOptions as a flag.
struct SynthFlag {
  const char* name;
  const char* value;
  const char* help;
  void (*set)(SynthOptions& options, std::string_view text);
};

constexpr SynthFlag synth_flags[]{
    {"layers", "N", "layers (default: 2)", [](SynthOptions& o, std::string_view v) { o.layers = count(v); }},
    {"q_heads", "N", "query heads of a layer (default: 4)",
     [](SynthOptions& o, std::string_view v) { o.q_heads = count(v); }},
    {"k_heads", "N", "key heads of a layer (default: 2)",
     [](SynthOptions& o, std::string_view v) { o.k_heads = count(v); }},
    {"rows", "N", "rows of each file (default: 1000)", [](SynthOptions& o, std::string_view v) { o.rows = size(v); }},
    {"dim", "N", "components of a vector (default: 64)", [](SynthOptions& o, std::string_view v) { o.dim = size(v); }},
    {"examples", "N", "documents that the rows come from (default: 16)",
     [](SynthOptions& o, std::string_view v) { o.examples = size(v); }},
    {"spacing", "uniform|log", "where buckets begin (default: uniform)",
     [](SynthOptions& o, std::string_view v) {
       constexpr std::string_view words[]{"uniform", "log"};
       o.spacing = static_cast<BucketSpacing>(config_word(v, words));
     }},
    {"buckets", "N", "position buckets (default: 16)",
     [](SynthOptions& o, std::string_view v) { o.buckets = size(v); }},
    {"bucket_size", "N", "tokens of a uniform bucket (default: 128)",
     [](SynthOptions& o, std::string_view v) { o.bucket_size = size(v); }},
    {"slope", "X", "drift of the query mean over the context, in noise deviations (default: 1)",
     [](SynthOptions& o, std::string_view v) { o.slope = number(v); }},
    {"mean", "X", "constant part of the queries, in noise deviations; large means low plasticity (default: 0.5)",
     [](SynthOptions& o, std::string_view v) { o.mean = number(v); }},
    {"spectrum", "X", "variance along axis i falls as (i + 1)^-X; 0: isotropic (default: 0.5)",
     [](SynthOptions& o, std::string_view v) { o.spectrum = number(v); }},
    {"example_effect", "X", "deviation of a shift shared by a document's queries (default: 0)",
     [](SynthOptions& o, std::string_view v) { o.example_effect = number(v); }},
    {"tails", "normal|heavy", "the noise: normal, or Student's t of 5 degrees of freedom (default: normal)",
     [](SynthOptions& o, std::string_view v) {
       constexpr std::string_view words[]{"normal", "heavy"};
       o.tails = static_cast<Tails>(config_word(v, words));
     }},
    {"bfloat16", "", "round components to bfloat16 (default: false)",
     [](SynthOptions& o, std::string_view v) { o.bfloat16 = config_boolean(v); }},
    {"rope_theta", "X", "rotate rows to their position with this base (default: no rotation)",
     [](SynthOptions& o, std::string_view v) { o.rope_theta = number(v); }},
    {"window", "N", "sliding window in tokens (default: full attention)",
     [](SynthOptions& o, std::string_view v) { o.window = count(v); }},
    {"sliding_layers", "LIST", "layers with the window, such as 0-3,7 (default: all)",
     [](SynthOptions& o, std::string_view v) { o.sliding_layers = config_indices(v); }},
    {"truth_pairs", "N", "key pairs behind each head's true plasticity; 0: parameters only (default: 8192)",
     [](SynthOptions& o, std::string_view v) { o.truth_pairs = size(v); }},
    {"seed", "N", "seed of everything (default: 0)",
     [](SynthOptions& o, std::string_view v) {
       o.seed = config_integer(v, 0, std::numeric_limits<std::uint64_t>::max());
     }},
};

SynthOptions options_of(const Arguments& arguments) {
  SynthOptions options;
  for (const SynthFlag& flag : synth_flags) {
    const auto text = arguments.value(flag.name);
    if (!text) continue;
    try {
      flag.set(options, *text);
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("--{}: {}", flag.name, error.what()));
    }
  }
  check(options);
  return options;
}

}  // namespace

Command synth_command() {
  Command command{"synth", "OUT", "Write a synthetic dump with known truth into the new folder OUT.", {}};
  for (const SynthFlag& flag : synth_flags) command.flags.push_back({flag.name, flag.value, flag.help});
  command.flags.push_back({"quiet", "", "print nothing"});
  return command;
}

int run_synth(const Arguments& arguments) {
  if (arguments.positionals().size() != 1) {
    throw Error(ErrorKind::usage, "synth takes one folder to write to: attention-plasticity synth OUT");
  }
  const std::string& out = arguments.positionals().front();
  const SynthOptions options = options_of(arguments);
  const bool quiet = arguments.is_on("quiet");
  {
    const Terminal terminal = Terminal::of_standard_error();
    // In a pipe nobody waits for single files: one line at the end tells all.
    Progress progress(quiet || !terminal.is_terminal ? Verbosity::quiet : Verbosity::bar, terminal, "files");
    write_synthetic_dump(out, options, [&](std::size_t done, std::size_t total) { progress.advance(done, total, ""); });
  }
  if (!quiet) {
    fmt::print("{}: {} query heads and {} key heads of {} rows x {}; the truth is in {}/truth.json\n", out,
               options.layers * options.q_heads, options.layers * options.k_heads, options.rows, options.dim, out);
  }
  return 0;
}

}  // namespace attention_plasticity
