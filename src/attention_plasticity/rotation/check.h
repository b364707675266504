#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attention_plasticity/analysis_options.h"
#include "attention_plasticity/rotation/dump_rotation.h"
#include "attention_plasticity/rotation/evidence.h"
#include "attention_plasticity/run_options.h"

namespace attention_plasticity {

/// Refines theta for the layout and components that a run is configured with, on the rows of heads_for_check(`judged`).
/// Empty if nothing is rotated, if no head can be read, and if the result is a common candidate. Depends on nothing but
/// its arguments, so that every process that prepares the same run has the same candidates.
std::vector<RotationCandidate> refined_candidates(const DumpRotation& rotation, Vectors vectors,
                                                  const std::vector<HeadSide>& judged, const RotationRows& rows);

/// The outcome of a check.
struct RotationVerdict {
  std::optional<RotationShares> shares;  ///< none: there is no evidence
  /// One line that says by which shares the vectors contradict the configured rotation, and what to pass; empty if they
  /// do not.
  std::string complaint;
};

/// Compares a configured rotation with all candidates: the common ones and `rotation.refined`. Each head's evidence is
/// measured where its rows are at hand, in this process or another; the verdict is a function of the evidences alone.
class RotationChecker {
 public:
  /// `heads`: those of the run, whichever process measures them.
  RotationChecker(DumpRotation rotation, Vectors vectors, Rope rope, std::vector<HeadSide> heads);

  /// None for a head that is not judged, and for fewer than two rows. Thread-safe.
  std::optional<FileEvidence> measure(const HeadSide& head, const RowsView& rows);
  /// Leaves out heads that are not judged. Throws Error(input) for evidence that was measured under other candidates.
  RotationVerdict verdict(RotationEvidence evidence) const;

 private:
  DumpRotation rotation_;
  Vectors vectors_;
  Rope rope_;
  std::vector<HeadSide> judged_;
  EvidenceMeter meter_;
};

/// Passes a complaint to `warn`, or throws it as Error(usage) if `check` is `error`.
void report_complaint(const RotationVerdict& verdict, RotationCheck check,
                      const std::function<void(const std::string&)>& warn);

}  // namespace attention_plasticity
