#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/options/config.h"
#include "attention_plasticity/source/prepared_run.h"

// Heads that were measured at different times or on different machines belong to one run when the same program measured
// the same files in the same way. A manifest says what that was. It is JSON (docs/formats.md), and holds all that
// run.json says of a run before its heads, so that a run can be put together where the dump is not at hand.

namespace attention_plasticity {

/// The manifest of a run.
std::string manifest_text(const PreparedRun& prepared, const RunConfig& config);

/// What two manifests are compared by.
struct ManifestComparison {
  /// Whether it matters that this file of the dump is the same; not set: it does.
  std::function<bool(const std::string& file)> counts = {};
  bool times = true;  ///< false: a file may have another modification time, as copies have
  bool simd = true;   ///< false: another instruction set may have been used
};

/// Why heads of the run `one` cannot be used in the run `other`: "`seed` was 0 and is 7". Empty when they can.
std::vector<std::string> manifest_differences(std::string_view one, std::string_view other,
                                              const ManifestComparison& by = {});

/// How the program of a manifest differs from this one, whatever the instruction set.
std::vector<std::string> program_differences(std::string_view manifest);

/// The run of a manifest: its tasks, with the files as recorded. `file` names the manifest in messages. Throws
/// Error(input) when it is not a manifest.
PreparedRun recorded_run(std::string_view manifest, const std::string& file);

/// The values of all fields in a manifest, by the table of fields.
std::vector<Setting> recorded_settings(std::string_view manifest, const std::string& file);

/// The instruction set in a manifest.
std::string recorded_simd(std::string_view manifest, const std::string& file);

/// Where the heads of a manifest's dump lay: an absolute path.
std::filesystem::path recorded_folder(std::string_view manifest, const std::string& file);

}  // namespace attention_plasticity
