#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attention_plasticity/base/atomic_file.h"
#include "attention_plasticity/base/free_memory.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/base/usable_cores.h"
#include "attention_plasticity/capture/capture_settings.h"
#include "attention_plasticity/capture/captured_rows.h"
#include "attention_plasticity/cli/commands.h"
#include "attention_plasticity/cli/flag_text.h"
#include "attention_plasticity/cli/machine.h"
#include "attention_plasticity/cli/model_flags.h"
#include "attention_plasticity/cli/native_capture.h"
#include "attention_plasticity/cli/native_source.h"
#include "attention_plasticity/cli/run_summary.h"
#include "attention_plasticity/cli/terminal.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/options/config_fields.h"
#include "attention_plasticity/report/report.h"
#include "attention_plasticity/run/array_run.h"
#include "attention_plasticity/run/results.h"

// A study: capture, labels, analysis, report. With a dump these are the steps of the other subcommands; without, rows
// go from the model to the analysis in memory.

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

int analyzed(const fs::path& dump, const std::string& output, bool overwrite, bool quiet) {
  std::vector<std::string> words{"--dataset_local_root", dump.string(), "--output_dir", output, "--resume"};
  if (overwrite) words.emplace_back("--overwrite");
  if (quiet) words.emplace_back("--quiet");
  return run_analyze(parse_arguments(analyze_command(), words));
}

void write_report(const fs::path& output, bool quiet) {
  ReportOptions options;
  options.results = {output};
  options.labels = output / labels_file;
  const Report report = make_report(options);
  for (const std::string& warning : report.warnings) tell_line("warning: " + warning);
  write_file_atomically(output / "report.html", report.page);
  if (quiet) return;
  print(fmt::format("report: {}; labels: {}\n", (output / "report.html").string(), (output / labels_file).string()));
}

// The layers of each pass over the texts, so that the rows of a pass fit into the memory.
std::vector<std::vector<int>> layers_of_passes(const LlamaSource& source, const CaptureSettings& settings,
                                               std::uint64_t memory) {
  const std::vector<LayerHeads> chosen = chosen_heads(settings, source.captured());
  std::vector<std::vector<int>> passes;
  std::uint64_t used = 0;
  for (std::size_t layer = 0; layer < chosen.size(); ++layer) {
    const LayerHeads& heads = chosen[layer];
    if (heads.queries.empty()) continue;
    std::uint64_t vectors = 0;
    for (std::uint64_t document = 0; document < source.documents().size(); ++document) {
      const std::size_t length = source.documents()[document].size();
      for (const Side side : {Side::query, Side::key}) {
        vectors += sampled_positions(settings, length, document, static_cast<int>(layer), side).positions.size() *
                   heads_of(heads, side).size();
      }
    }
    const std::uint64_t bytes = vectors * source.layers()[layer].width * sizeof(float);
    if (passes.empty() || used + bytes > memory) {
      passes.emplace_back();
      used = 0;
    }
    passes.back().push_back(static_cast<int>(layer));
    used += bytes;
  }
  return passes;
}

// The rows of a pass, which the heads of an analysis refer to.
class PassRows {
 public:
  PassRows(LlamaSource& source, CaptureSettings settings, std::vector<std::vector<int>> layers, Progress& progress,
           const std::stop_token& stop)
      : source_(source), settings_(std::move(settings)), layers_(std::move(layers)), progress_(progress), stop_(stop) {}

  ArrayPasses passes() {
    ArrayPasses passes;
    const std::vector<LayerHeads> chosen = chosen_heads(settings_, source_.captured());
    for (const std::vector<int>& layers : layers_) {
      std::vector<ArrayPasses::Head>& heads = passes.heads.emplace_back();
      for (const int layer : layers) {
        for (const int head : chosen[static_cast<std::size_t>(layer)].queries) {
          heads.push_back({id(layer, head), shape(layer).width});
        }
      }
    }
    passes.rows = [this](std::size_t pass) { return rows(pass); };
    return passes;
  }

 private:
  const AttentionLayer& shape(int layer) const { return source_.layers()[static_cast<std::size_t>(layer)]; }
  HeadId id(int layer, int head) const { return {layer, head, head / (shape(layer).q_heads / shape(layer).k_heads)}; }

  std::vector<ArrayHead> rows(std::size_t pass) {
    kept_.clear();
    CaptureSettings own = settings_;
    own.layers = layers_[pass];
    CapturedRows captured(own, source_.captured());
    ReadingDisplay reading(progress_);
    if (!capture_documents(source_, captured, [&](const CapturedSoFar& now) { reading.show(now); }, stop_)) return {};
    kept_ = captured.take();
    std::vector<ArrayHead> heads;
    for (std::size_t i = 0; i < kept_.size(); i += 2) {  // the queries of a layer, then its keys
      const LayerRows& queries = *kept_[i];
      const LayerRows& keys = *kept_[i + 1];
      for (std::size_t head = 0; head < queries.heads.size(); ++head) {
        const HeadId number = id(queries.layer, queries.heads[head]);
        const auto key = std::ranges::find(keys.heads, number.k_head) - keys.heads.begin();
        heads.push_back({number, queries.view(head), keys.view(static_cast<std::size_t>(key))});
      }
    }
    return heads;
  }

  LlamaSource& source_;
  CaptureSettings settings_;
  std::vector<std::vector<int>> layers_;
  Progress& progress_;
  const std::stop_token& stop_;
  std::vector<std::shared_ptr<const LayerRows>> kept_;
};

RunConfig config_of(const LlamaSource& source, const std::string& output, bool overwrite) {
  const std::string source_name = "--no-dump";
  const auto text = [](int number) { return std::to_string(number); };
  const HeadCounts heads = largest_head_counts(source.layers());
  RunConfig config = resolve_config(std::vector<Setting>{{"output_dir", output, source_name},
                                                         {"model_dir", source.captured().name, source_name},
                                                         {"num_layers", text(source.model().layers()), source_name},
                                                         {"num_q_heads", text(heads.queries), source_name},
                                                         {"num_k_heads", text(heads.keys), source_name}});
  config.overwrite = overwrite;
  return config;
}

RunObserver observer_of(Progress& progress) {
  return {[&](const HeadEvent& event) {
            const std::string head = fmt::format("layer {} q_head {}", event.head.layer, event.head.q_head);
            if (event.failure != nullptr) {
              progress.failure(fmt::format("{}: failed: {}", head, event.failure->message));
            } else {
              progress.advance(event.ended, event.total, fmt::format("[{}/{}] {}", event.ended, event.total, head));
            }
          },
          [&](const std::string& note) { progress.note(note); },
          [&](const std::string& warning) { progress.warning(warning); },
          {}};
}

int study_without_dump(const Arguments& arguments, const std::string& output, bool quiet) {
  const auto start = std::chrono::steady_clock::now();
  const Verbosity verbosity = verbosity_of(quiet, true, Terminal::of_standard_error());
  NativeStop interruption;
  CaptureSettings settings = options_of(capture_table(), arguments);
  LlamaSource source = native_source(arguments, settings);
  interruption.begin();
  const std::stop_token stop = interruption.token();
  const auto interrupted = [&] {
    tell("attention-plasticity: interrupted; a study without a dump begins anew\n");
    return 128 + interruption.signal();
  };
  const RunConfig config = config_of(source, output, settings.overwrite);
  std::optional<ModelRotation> model = ModelRotation::of_model_config(source.captured().config);
  if (!model) throw Error(ErrorKind::input, "the config of this model describes no rotation");
  std::optional<Progress> progress(std::in_place, verbosity, Terminal::of_standard_error(), "heads");
  const std::uint64_t memory =
      options_of(study_table(), arguments)
          .row_memory.value_or(free_memory().value_or(std::numeric_limits<std::uint64_t>::max()) / 2);
  PassRows rows(source, settings, layers_of_passes(source, settings, memory), *progress, stop);
  ArrayPasses passes = rows.passes();
  if (passes.heads.size() > 1) progress->note(fmt::format("the texts are read in {} passes", passes.heads.size()));
  PreparedRun prepared =
      prepare_passes(std::move(passes), config, DumpRotation{std::move(*model), 0, RotationSource::config, {}, {}});
  prepared.sampling_bucket_size = static_cast<double>(effective_bucket_size(settings));
  prepared.sampling_strategy = sampling_strategy(settings.sampling);
  fs::create_directories(output);
  const std::vector<FolderLock> locks = lock_outputs(prepared, config);
  check_outputs(prepared, config);
  const RunResult result =
      run_analysis(prepared, config, {.workers = usable_cores(), .stop = stop}, observer_of(*progress));
  if (result.interrupted) return interrupted();
  const std::optional<AttentionLabels> found = native_labels(source, *progress, stop);
  if (!found) return interrupted();
  progress.reset();
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const RunSummary summary = summarize_run(result, config);
  const std::vector<std::string> files =
      write_results(prepared, config, result, summary, {usable_cores(), wall, cpu_seconds(), peak_rss_bytes(), {}});
  const fs::path labels = fs::path(output) / labels_file;
  write_file_atomically(labels, found->csv());
  if (!quiet) {
    std::vector<std::string> notes;
    print_summary(prepared, result, summary, files, find_labels(labels.string(), prepared, notes));
  }
  return exit_code_of(result);
}

int study_with_dump(const Arguments& arguments, const std::string& output, bool quiet) {
  const bool overwrite = options_of(capture_table(), arguments).overwrite;
  const NativeDump dump = capture_natively(arguments, fs::path(output) / "dump", true, quiet);
  if (dump.is_whole && dump.signal != 0) tell(dump_interrupted);  // the signal came while the dump was put in place
  if (dump.signal != 0) return 128 + dump.signal;
  if (!quiet && !dump.summary.empty()) tell(fmt::format("{}: {}\n", dump.folder.string(), dump.summary));
  const int code = analyzed(dump.folder, output, overwrite, quiet);
  if (code <= some_heads_failed) {
    write_file_atomically(fs::path(output) / labels_file, read_text_file(dump.folder / labels_file));
  }
  return code;
}

}  // namespace

int run_native_study(const Arguments& arguments) {
  const OutputFlags flags = options_of(output_table("", ""), arguments);
  const std::string output = flags.output.value_or("");
  const bool with_dump = options_of(study_table(), arguments).dump;
  const int code =
      with_dump ? study_with_dump(arguments, output, flags.quiet) : study_without_dump(arguments, output, flags.quiet);
  if (code > some_heads_failed) return code;
  write_report(output, flags.quiet);
  return code;
}

}  // namespace attention_plasticity
