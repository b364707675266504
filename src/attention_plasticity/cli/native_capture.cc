#include "attention_plasticity/cli/native_capture.h"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "attention_plasticity/capture/capture_settings.h"
#include "attention_plasticity/cli/model_flags.h"
#include "attention_plasticity/cli/native_source.h"
#include "attention_plasticity/cli/terminal.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

NativeDump captured(LlamaSource& source, const CaptureSettings& settings, const fs::path& output, bool with_labels,
                    Verbosity verbosity, const std::stop_token& stop) {
  DumpWriter writer(output, settings, source.captured(), source.texts_digest());
  NativeDump dump{output, source.documents().size(), source.captured().name, "", 0, false};
  Progress progress(verbosity, Terminal::of_standard_error(), "documents");
  ReadingDisplay reading(progress);
  if (!writer.is_complete() &&
      !capture_documents(source, writer, [&](const CapturedSoFar& now) { reading.show(now); }, stop)) {
    return dump;
  }
  dump.summary = reading.summary();
  std::map<std::string, std::string> files;
  std::error_code unknown;
  if (with_labels && !(writer.is_complete() && fs::exists(output / labels_file, unknown))) {
    const std::optional<AttentionLabels> labels = native_labels(source, progress, stop);
    if (!labels) return dump;
    files[labels_file] = labels->csv();
  }
  dump.folder = writer.finish(files);
  dump.is_whole = true;
  return dump;
}

}  // namespace

bool has_native_capture() { return true; }

NativeDump capture_natively(const Arguments& arguments, const fs::path& output, bool with_labels, bool quiet) {
  const Verbosity verbosity = verbosity_of(quiet, true, Terminal::of_standard_error());
  NativeStop interruption;
  CaptureSettings settings = options_of(capture_table(), arguments);
  LlamaSource source = native_source(arguments, settings);
  interruption.begin();
  NativeDump dump = captured(source, settings, output, with_labels, verbosity, interruption.token());
  dump.signal = interruption.signal();
  if (!dump.is_whole) tell(dump_interrupted);
  return dump;
}

int run_native_capture(const Arguments& arguments) {
  const OutputFlags flags = options_of(output_table("", ""), arguments);
  const bool with_labels = options_of(label_table(), arguments).labels;
  const NativeDump dump = capture_natively(arguments, flags.output.value_or(""), with_labels, flags.quiet);
  if (!dump.is_whole) return 128 + dump.signal;
  if (flags.quiet) return 0;
  print(fmt::format("{}: {} documents of {}{}{}\n", dump.folder.string(), dump.documents, dump.model,
                    dump.summary.empty() ? "" : "; ", dump.summary));
  print(fmt::format("next: attention-plasticity analyze --dataset_local_root {} -o OUT\n", dump.folder.string()));
  return 0;
}

}  // namespace attention_plasticity
