#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "attention_plasticity/rotation.h"
#include "attention_plasticity/rotation/row_sample.h"

namespace attention_plasticity {

/// Parts of a vector that models rotate.
enum class RotatedPart { all, first_half, first_quarter, last_half };

/// Components of vectors of one width.
struct ComponentRange {
  std::size_t first = 0;
  std::size_t dim = 0;

  bool operator==(const ComponentRange&) const = default;
};

/// "all 64 components", "16 of 64 components", "components 32 to 63 of 64".
std::string components_text(const ComponentRange& components, std::size_t width);

/// The layout of a rotation and the components that it rotates: a part of vectors of any width, or a fixed range.
struct RotationShape {
  RotaryLayout layout = RotaryLayout::half;
  std::variant<RotatedPart, ComponentRange> components = RotatedPart::all;

  bool operator==(const RotationShape&) const = default;

  /// The rotated components of vectors of a given width. None for a part of odd size, which cannot be rotated in pairs,
  /// for an empty one, and for a range that exceeds the width.
  std::optional<ComponentRange> components_in(std::size_t width) const;
};

/// The eight shapes that every dump is tried with: both layouts with each part.
std::span<const RotationShape> common_shapes();

/// A rotation that is tried on the vectors of a dump.
struct RotationCandidate {
  std::optional<RotationShape> shape;  ///< none: R = I
  double theta = 0;                    ///< base of the frequencies theta^(-2i/dim); 0 without a shape

  bool operator==(const RotationCandidate&) const = default;

  /// The rotation of vectors of a given width; none for a shape that they do not fit.
  std::optional<Rotation> rotation(std::size_t width) const;
  /// The rotated components; none (0, 0) without a shape, and for a shape that does not fit.
  ComponentRange components(std::size_t width) const;
  /// "theta 100000, half, all 64 components"; "no rotation".
  std::string text(std::size_t width) const;
  /// The settings that ask for it: "`rope_theta: 100000`, `rope_layout: half`", with `rope_dim` and `rope_first` where
  /// a part is rotated.
  std::string settings(std::size_t width) const;
};

/// The 41 candidates that every dump is tried with: none, then theta 1e4, 1e5, 5e5, 1e6, 1e7 with every common shape.
std::span<const RotationCandidate> common_candidates();

/// Computes `RowSample::fixed` under each common candidate. Keeps tables of phases from sample to sample.
class CommonCandidateTables {
 public:
  /// NaN for a candidate that the sample's width does not fit. Thread-safe.
  std::vector<double> fixed(const RowSample& sample);

 private:
  // One for each common candidate, shared by those of the same frequencies. Null for one that the width does not fit.
  using Tables = std::vector<std::shared_ptr<const PhaseTables>>;
  std::shared_ptr<const Tables> tables(std::size_t width, std::size_t last);

  std::mutex mutex_;
  std::map<std::pair<std::size_t, std::size_t>, std::shared_ptr<const Tables>> by_width_and_last_;
};

/// The theta under which the most energy of the samples is fixed: the best of exp(ln 1e3 + 0.08 k) up to 1e8, then
/// three times the best of 33 points, equidistant in log, between the neighbours of the best one. A theta within 1 % of
/// a number that models use is taken to be that number. Samples that are too narrow for the shape, or that hold fewer
/// than two rows, are left out; 0 if none is left.
double refined_theta(std::span<const RowSample* const> samples, const RotationShape& shape);

}  // namespace attention_plasticity
