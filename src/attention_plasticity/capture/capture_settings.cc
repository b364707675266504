#include "attention_plasticity/capture/capture_settings.h"

namespace attention_plasticity {

std::string_view sampling_strategy(Sampling sampling) {
  switch (sampling) {
    case Sampling::uniform:
      return "uniform";
    case Sampling::log_uniform:
      return "log";
    case Sampling::all:
      break;
  }
  return "all";
}

const FieldTable<CaptureSettings>& capture_table() {
  using Settings = CaptureSettings;
  static const FieldTable<Settings> table = [] {
    FieldTable<Settings> fields{
        {"sampling", values::word({"uniform", "log_uniform", "all"}), &Settings::sampling,
         "Which positions are kept: a share of all, the same number for each doubling of the position, or all."},
        {"bucket_size", values::count(), &Settings::bucket_size,
         "Tokens of a position bucket; with log_uniform, of the smallest one, rounded up to a power of two."},
        {"rows_per_bucket", values::positive_number(), &Settings::rows_per_bucket,
         "Expected rows of each bucket of a document."},
        {"seed", values::seed_number(), &Settings::seed, "Seed of the positions; 0: those of the public capture tool."},
        {"layers", values::indices(), &Settings::layers, "Layers to capture, such as 0-3,7.", "all"},
        {"heads", values::indices(), &Settings::heads,
         "Query heads of each layer to capture; the key heads that they read come along.", "all"},
        {"max_length", values::count(2), &Settings::max_length, "Longest document in tokens.",
         "4096, or the model's limit if that is less"},
        {"overwrite", values::boolean(), &Settings::overwrite,
         "Replace a dump that is there, or an unfinished capture of something else."},
    };
    for (TypedField<Settings>& field : fields) field.decides_figures = field.name != "overwrite";
    return fields;
  }();
  return table;
}

CaptureSettings resolve_capture(std::span<const Setting> settings) { return resolve(capture_table(), settings); }

}  // namespace attention_plasticity
