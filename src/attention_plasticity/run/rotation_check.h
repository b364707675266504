#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attention_plasticity/analyze_dump.h"
#include "attention_plasticity/run/prepared_run.h"
#include "attention_plasticity/run/rotation_evidence.h"

namespace attention_plasticity {

/// A dump or layer is undecided, and nothing is said of its rotation, when the largest share of it is below this.
constexpr double least_decided_share = 0.02;

/// A way to un-rotate vectors, in words and as the settings that ask for it.
struct DescribedWay {
  std::optional<RotaryLayout> layout;  ///< none: R = I
  ComponentRange components;
  double theta = 0;

  /// "theta 100000, half, all 64 components"; "no rotation".
  std::string text(std::size_t width) const;
  /// "`rope_theta: 100000`, `rope_layout: half`", with `rope_dim` and `rope_first` where a part is rotated.
  std::string settings(std::size_t width) const;
};

/// A way among known_ways() for vectors of some width.
DescribedWay described_way(const RotationWay& way, std::size_t width);

/// The sides of a run's heads, by which its rotation is judged. `source` must outlive them; if it is null, their rows
/// cannot be read.
std::vector<RotationFile> rotation_sides(HeadSource* source, std::span<const HeadTask> tasks);

/// Collects what the vectors of `files` say about a run's configured rotation; null when none is known, when it was
/// inferred from them, or when it is not to be checked.
std::unique_ptr<RotationEvidence> configured_evidence(const PreparedRun& prepared, const RunConfig& config,
                                                      std::vector<RotationFile> files);

/// What the vectors say against the configured rotation, in one line with both shares and what to pass; empty when
/// nothing. Reads files a second time where a theta of its own may fit better.
std::string rotation_complaint(RotationEvidence& evidence, const PreparedRun& prepared, const RunConfig& config);

/// Tells such a complaint as a warning, and returns what the vectors say; none when no file says anything. Throws
/// Error(usage) when there is one and `rotation_check` is `error`.
std::optional<RotationShares> checked_shares(RotationEvidence& evidence, const PreparedRun& prepared,
                                             const RunConfig& config, const RunObserver& observer);

}  // namespace attention_plasticity
