#include <fmt/format.h>

#include <limits>
#include <memory>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/cli/commands.h"
#include "attention_plasticity/cli/progress.h"
#include "attention_plasticity/cli/terminal.h"
#include "attention_plasticity/synth/options.h"
#include "attention_plasticity/synth/synthetic_dump.h"

namespace attention_plasticity {
namespace {

struct SynthFlags {
  SynthOptions options;
  bool quiet = false;
};

template <class T>
auto option(T SynthOptions::* member) {
  return nested(&SynthFlags::options, member);
}

// check(SynthOptions) knows the exact range.
ValueKind<std::uint64_t> size() { return values::integer(0, std::numeric_limits<std::int64_t>::max()); }

const FieldTable<SynthFlags>& synth_table() {
  using Options = SynthOptions;
  static const FieldTable<SynthFlags> table{
      {"layers", values::count(), option(&Options::layers), "Layers."},
      {"q_heads", values::count(), option(&Options::q_heads), "Query heads of a layer."},
      {"k_heads", values::count(), option(&Options::k_heads), "Key heads of a layer."},
      {"rows", size(), option(&Options::rows), "Rows of each file."},
      {"dim", size(), option(&Options::dim), "Components of a vector."},
      {"examples", size(), option(&Options::examples), "Documents that the rows come from."},
      {"spacing", values::word({"uniform", "log"}), option(&Options::spacing), "Where buckets begin."},
      {"buckets", size(), option(&Options::buckets), "Position buckets."},
      {"bucket_size", size(), option(&Options::bucket_size), "Tokens of a uniform bucket."},
      {"slope", values::number(), option(&Options::slope),
       "Drift of the query mean over the context, in noise deviations."},
      {"mean", values::number(), option(&Options::mean),
       "Constant part of the queries, in noise deviations; large means low plasticity."},
      {"spectrum", values::number(), option(&Options::spectrum),
       "Variance along axis i falls as (i + 1)^-X; 0: isotropic."},
      {"example_effect", values::number(), option(&Options::example_effect),
       "Deviation of a shift that the queries of a document share."},
      {"tails", values::word({"normal", "heavy"}), option(&Options::tails),
       "Distribution of the noise: normal, or Student's t with 5 degrees of freedom."},
      {"bfloat16", values::boolean(), option(&Options::bfloat16), "Round components to bfloat16."},
      {"rope_theta", values::number(), option(&Options::rope_theta), "Rotate rows to their position with this base.",
       "no rotation"},
      {"rope_layout", values::word({"half", "interleaved"}), option(&Options::rope_layout),
       "Which components are rotated together."},
      {"rope_dim", size(), option(&Options::rope_dim), "Number of components that are rotated.",
       "all from rope_first on"},
      {"rope_first", size(), option(&Options::rope_first), "Index of the first component that is rotated."},
      {"window", values::count(), option(&Options::window), "Sliding window in tokens.", "full attention"},
      {"sliding_layers", values::indices(), option(&Options::sliding_layers), "Layers with the window, such as 0-3,7.",
       "all"},
      {"truth_pairs", size(), option(&Options::truth_pairs),
       "Key pairs behind each head's true plasticity; 0: write the parameters only."},
      {"seed", values::seed_number(), option(&Options::seed), "Seed of every random draw."},
      {"document_seed", values::seed_number(), option(&Options::document_seed),
       "Seed of all but the noise. Dumps that share it are captures of one truth on the same documents.",
       "that of seed"},
      {"quiet", values::boolean(), &SynthFlags::quiet, "Print nothing."},
  };
  return table;
}

// The truth of a wide dump takes longer than its files, and has a bar of its own.
void write_with_progress(const std::string& out, const SynthOptions& options, bool quiet) {
  const Terminal terminal = Terminal::of_standard_error();
  // Without a terminal, the lines before and after are enough.
  const Verbosity verbosity = quiet || !terminal.is_terminal ? Verbosity::quiet : Verbosity::bar;
  auto progress = std::make_unique<Progress>(verbosity, terminal, "files");
  const auto begin = [&](std::uint64_t bytes) {
    if (!quiet) tell(fmt::format("writing about {}\n", size_text(bytes)));
  };
  const auto file = [&](std::size_t done, std::size_t total) { progress->advance(done, total, ""); };
  const auto truth = [&](std::size_t done, std::size_t total) {
    if (done == 1) progress = std::make_unique<Progress>(verbosity, terminal, "truths of heads");
    progress->advance(done, total, "");
  };
  write_synthetic_dump(out, options, {.begin = begin, .file = file, .truth = truth});
}

}  // namespace

Command synth_command() {
  static constexpr FieldGroup groups[]{{"layers", "Size"},
                                       {"spacing", "Positions"},
                                       {"slope", "Queries and keys"},
                                       {"window", "Attention"},
                                       {"truth_pairs", "The program"}};
  return {"synth",
          "OUT",
          "Write a synthetic dump with known truth into the new folder OUT.",
          with_groups(descriptions(synth_table()), groups),
          {{"attention-plasticity synth out/toy --layers 2 --q_heads 4 --k_heads 2 --rows 5000 --dim 128",
            "A dump of a small model."},
           {"attention-plasticity synth out/rotated --rope_theta 10000 --mean 2", "One with rotary embeddings."}}};
}

int run_synth(const Arguments& arguments) {
  const std::string& out =
      arguments.only_positional("synth takes one folder to write to: attention-plasticity synth OUT");
  const auto [options, quiet] = options_of(synth_table(), arguments);
  check(options);
  write_with_progress(out, options, quiet);
  if (!quiet) {
    print(fmt::format("{}: {} query heads and {} key heads of {} rows x {}; the truth is in {}/truth.json\n", out,
                      options.layers * options.q_heads, options.layers * options.k_heads, options.rows, options.dim,
                      out));
  }
  return 0;
}

}  // namespace attention_plasticity
