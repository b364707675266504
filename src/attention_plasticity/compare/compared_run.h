#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/results/head_tables.h"
#include "attention_plasticity/results/run_json.h"
#include "attention_plasticity/stats/jackknife.h"

namespace attention_plasticity {

/// The documents that a run leaves out group by group.
struct DocumentGroups {
  std::size_t count = 0;     ///< G, the number of groups
  std::size_t examples = 0;  ///< the number of documents
  std::string sha256;        ///< of their ids

  friend bool operator==(const DocumentGroups&, const DocumentGroups&) = default;
};

/// The leave-one-out values of one column, by head. A head that has none is empty.
using GroupValues = std::vector<LeaveOneOut>;

/// What a run says about its heads, for a comparison with another.
struct ComparedRun {
  std::string folder;  ///< as the user gave it
  RunDescription description;
  std::size_t width = 0;                 ///< components of a vector; 0: unknown
  std::optional<DocumentGroups> groups;  ///< none: heads have groups of their own, or no errors
  /// Settings that decide what is measured, as JSON text, by field.
  std::map<std::string, std::string> settings;
  HeadMetrics metrics;
  std::map<std::string, GroupValues, std::less<>> without_group;  ///< by column; heads as in `metrics`

  std::string model() const { return description.model.value_or("an unnamed model"); }
  /// Null for a column without such values.
  const GroupValues* groups_of(std::string_view column) const;
};

/// `notes` gets what the user should know of the results. Throws Error(input) for a folder without a run's metrics or
/// run.json.
ComparedRun read_compared_run(const std::filesystem::path& folder, std::vector<std::string>& notes);

}  // namespace attention_plasticity
