#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "attention_plasticity/base/printable.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/cli/commands.h"
#include "attention_plasticity/cli/flag_text.h"
#include "attention_plasticity/cli/terminal.h"
#include "attention_plasticity/json/json.h"
#include "attention_plasticity/rotation/rotation_json.h"
#include "attention_plasticity/run/inspection.h"

namespace attention_plasticity {
namespace {

struct InspectFlags {
  std::string model_dir;
  bool json = false;
  bool rotation = false;
};

const FieldTable<InspectFlags>& inspect_table() {
  static const FieldTable<InspectFlags> table{
      {"model_dir", values::any_text("TEXT"), &InspectFlags::model_dir, "Folder of the heads below DUMP."},
      {"json", values::boolean(), &InspectFlags::json, "Print JSON instead of a table."},
      {"rotation", values::boolean(), &InspectFlags::rotation,
       "Show what the vectors say about the model's rotation, layer by layer, instead of the heads."},
  };
  return table;
}

Json file_json(const DumpInspection& dump, const FileInspection& file) {
  Json json{{"file", dump.layout.file(file.side, file.head).lexically_relative(dump.layout.folder).generic_string()},
            {"side", file.side == Side::query ? "query" : "key"},
            {"layer", file.head.layer},
            {"head", file.head.head},
            {"bytes", file.bytes}};
  if (file.error) {
    json["error"] = *file.error;
    return json;
  }
  json.update(Json{{"rows", file.rows},
                   {"width", file.width},
                   {"buckets", file.buckets},
                   {"first_bucket", file.first_bucket},
                   {"last_bucket", file.last_bucket},
                   {"first_position", file.first_position},
                   {"last_position", file.last_position},
                   {"examples", value_or_null(file.examples)},
                   {"window", value_or_null(file.window)},
                   {"page_checksums", file.has_checksums}});
  return json;
}

Json stated_json(const std::optional<StatedNumber>& number) { return number ? Json(number->value) : Json(nullptr); }

void print_json(const DumpInspection& dump, const std::optional<RotationInspection>& vectors) {
  Json files = Json::array();
  for (const FileInspection& file : dump.files) files.push_back(file_json(dump, file));
  Json rotation = Json::array();
  for (const LayersOfRotation& group : dump.rotation) {
    rotation.push_back({{"rotation", group.rotation}, {"layers", group.layers}});
  }
  Json json{{"folder", dump.layout.folder.string()},
            {"model", value_or_null(dump.capture.model_name)},
            {"sampling",
             {{"strategy", value_or_null(dump.capture.sampling_strategy)},
              {"bucket_size", value_or_null(dump.capture.bucket_size)}}},
            {"num_layers", stated_json(dump.model.num_layers)},
            {"num_q_heads", stated_json(dump.model.num_q_heads)},
            {"num_k_heads", stated_json(dump.model.num_k_heads)},
            {"rotation", std::move(rotation)},
            {"query_heads", dump.layout.queries.size()},
            {"key_heads", dump.layout.keys.size()},
            {"files", std::move(files)}};
  if (vectors) {
    std::optional<RotationSource> source;
    if (!dump.rotation.empty()) source = RotationSource::config;
    json["rotation_shares"] = rotation_json(source, &vectors->observed.shares);
  }
  print(fmt::format("{}\n", json_text(json, 2)));
}

// Nothing where every file has checksums.
void print_missing_checksums(const DumpInspection& dump) {
  const auto has_none = [](const FileInspection& file) { return !file.has_checksums; };
  const auto first = std::ranges::find_if(dump.files, has_none);
  if (first == dump.files.end()) return;
  const auto count = std::ranges::count_if(dump.files, has_none);
  print(fmt::format("checksums {} of {} files {} none, the first {}: damage to {} may change numbers unnoticed\n",
                    count, dump.files.size(), count == 1 ? "has" : "have", head_folder_name(first->side, first->head),
                    count == 1 ? "it" : "them"));
}

void print_overview(const DumpInspection& dump) {
  print(fmt::format("dump      {}\n", printable_text(dump.layout.folder.string())));
  if (dump.capture.model_name) print(fmt::format("model     {}\n", printable_text(*dump.capture.model_name)));
  if (dump.model.num_layers && dump.model.num_q_heads && dump.model.num_k_heads) {
    print(fmt::format("shape     {} layers, {} query heads, {} key heads (config.json)\n", dump.model.num_layers->value,
                      dump.model.num_q_heads->value, dump.model.num_k_heads->value));
  }
  for (const LayersOfRotation& group : dump.rotation) {
    print(fmt::format("rotation  {}{}\n", group.rotation,
                      dump.rotation.size() == 1 ? "" : fmt::format(" (layers {})", fmt::join(group.layers, ", "))));
  }
  if (dump.capture.sampling_strategy) {
    print(
        fmt::format("sampling  {}{}\n", *dump.capture.sampling_strategy,
                    dump.capture.bucket_size ? fmt::format(", buckets of {} tokens", *dump.capture.bucket_size) : ""));
  }
  std::uint64_t bytes = 0;
  std::size_t rows = 0;
  for (const FileInspection& file : dump.files) {
    bytes += file.bytes;
    rows += file.rows;
  }
  print(fmt::format("captured  {} query heads, {} key heads, {} rows, {}\n", dump.layout.queries.size(),
                    dump.layout.keys.size(), rows, size_text(bytes)));
  print_missing_checksums(dump);
  print("\n");
}

void print_table(const DumpInspection& dump) {
  print_overview(dump);
  constexpr std::string_view row = "{:<9} {:>8} {:>6} {:>8} {:>9} {:>19} {:>9} {:>8} {:>11}\n";
  print(fmt::format(row, "head", "rows", "width", "buckets", "", "positions", "examples", "window", "size"));
  for (const FileInspection& file : dump.files) {
    const std::string name = head_folder_name(file.side, file.head);
    if (file.error) {
      print(fmt::format("{:<10}unreadable: {}\n", name, *file.error));
      continue;
    }
    print(fmt::format(row, name, file.rows, file.width, file.buckets,
                      fmt::format("{}..{}", file.first_bucket, file.last_bucket),
                      fmt::format("{}..{}", file.first_position, file.last_position),
                      file.examples ? fmt::format("{}", *file.examples) : "-",
                      file.window ? fmt::format("{}", *file.window) : "-", size_text(file.bytes)));
  }
}

std::string share_text(double share) { return std::isnan(share) ? "-" : fmt::format("{:.3f}", share); }

// The configured rotation, none, and the candidates with the largest shares.
void print_rotation(const DumpInspection& dump, const RotationInspection& vectors) {
  print_overview(dump);
  constexpr std::size_t most_refined = 4;
  const RotationShares& shares = vectors.observed.shares;
  const std::span<const RefinedCandidate> refined =
      std::span(vectors.observed.refined).first(std::min(most_refined, vectors.observed.refined.size()));
  print("Share of the vectors' energy that does not depend on position, un-rotated in these ways:\n\n");
  print(fmt::format("  config  {}\n  none    no rotation\n",
                    dump.rotation.empty() ? "no rotation is known from a config.json" : "as config.json says"));
  for (std::size_t i = 0; i < refined.size(); ++i) {
    print(fmt::format("  {}       {}\n", i + 1, refined[i].candidate.text(shares.width)));
  }
  print(fmt::format("\n{:<8}{:>8}{:>8}", "layer", "config", "none"));
  for (std::size_t i = 0; i < refined.size(); ++i) print(fmt::format("{:>8}", i + 1));
  const auto print_row = [&](const std::string& name, const FixedEnergy& of, const auto& refined_share) {
    print(fmt::format("\n{:<8}{:>8}{:>8}", name, share_text(of.configured), share_text(of.common.front())));
    for (const RefinedCandidate& candidate : refined) {
      print(fmt::format("{:>8}", share_text(refined_share(candidate))));
    }
  };
  for (std::size_t l = 0; l < shares.layers.size(); ++l) {
    print_row(std::to_string(shares.layers[l].layer), shares.layers[l].shares,
              [&](const RefinedCandidate& candidate) { return candidate.of_layer[l]; });
  }
  print_row("all", shares.dump, [](const RefinedCandidate& candidate) { return candidate.share; });
  print(fmt::format("\n\nWithout a config.json: {}\n", with_flags(vectors.inferred.line)));
}

}  // namespace

Command inspect_command() {
  return {"inspect",
          "DUMP",
          "Show what a dump holds: heads, rows, width, buckets, positions, examples, windows, sizes.",
          descriptions(inspect_table()),
          {{"attention-plasticity inspect DUMP", "See the heads of a dump."},
           {"attention-plasticity inspect DUMP --json", "The same for a program."}}};
}

int run_inspect(const Arguments& arguments) {
  const InspectFlags flags = options_of(inspect_table(), arguments);
  const std::string& root = arguments.only_positional("inspect takes one dump: attention-plasticity inspect DUMP");
  const DumpInspection dump = inspect_dump(root, flags.model_dir);
  for (const std::string& note : dump.notes) tell_line(note);
  std::optional<RotationInspection> vectors;
  if (flags.rotation) vectors = inspect_rotation(root, dump);
  if (flags.json) {
    print_json(dump, vectors);
  } else if (vectors) {
    print_rotation(dump, *vectors);
  } else {
    print_table(dump);
  }
  const auto unreadable = std::ranges::count_if(dump.files, [](const FileInspection& file) { return !!file.error; });
  if (unreadable == static_cast<std::ptrdiff_t>(dump.files.size())) return exit_code(ErrorKind::input);
  return unreadable > 0 ? some_heads_failed : 0;
}

}  // namespace attention_plasticity
