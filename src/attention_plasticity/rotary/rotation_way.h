#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "attention_plasticity/rotary/row_sample.h"
#include "attention_plasticity/rotation.h"

namespace attention_plasticity {

/// Which components of a vector a model may rotate.
enum class RotatedPart { all, first_half, first_quarter, last_half };

/// The layout of a rotation and the part of a vector that it rotates.
struct RotationShape {
  RotaryLayout layout = RotaryLayout::half;
  RotatedPart part = RotatedPart::all;

  bool operator==(const RotationShape&) const = default;
};

/// The eight shapes: both layouts with each part.
std::span<const RotationShape> rotation_shapes();

/// A part of vectors of a given width.
struct ComponentRange {
  std::size_t first = 0;
  std::size_t dim = 0;

  bool operator==(const ComponentRange&) const = default;
};

/// None for a part of odd size, which cannot be rotated in pairs, and for an empty one.
std::optional<ComponentRange> components_of(RotatedPart part, std::size_t width);

/// A way in which a model may have rotated its vectors.
struct RotationWay {
  std::optional<RotationShape> shape;  ///< none: R = I
  double theta = 0;                    ///< base of the frequencies theta^(-2i/dim); 0 without a shape

  bool operator==(const RotationWay&) const = default;
};

/// The rotation of a way for vectors of a given width; none for a part that cannot be rotated.
std::optional<Rotation> rotation_of(const RotationWay& way, std::size_t width);

/// The 41 ways that every dump is tried with: none, then theta 1e4, 1e5, 5e5, 1e6, 1e7 with every shape.
std::span<const RotationWay> known_ways();

/// `RowSample::fixed` under each known way; NaN for a way whose part cannot be rotated. May be called by several
/// threads.
class KnownWayTables {
 public:
  std::vector<double> fixed(const RowSample& sample);

 private:
  // One for each known way, shared by ways of the same frequencies. Null for a way that cannot rotate such a part.
  using Tables = std::vector<std::shared_ptr<const PhaseTables>>;
  std::shared_ptr<const Tables> tables(std::size_t width, std::size_t last);

  std::mutex mutex_;
  std::map<std::pair<std::size_t, std::size_t>, std::shared_ptr<const Tables>> by_width_and_last_;
};

/// The theta under which the most energy of the samples is fixed: the best of exp(ln 1e3 + 0.08 k) up to 1e8, then
/// three times the best of 33 points, equidistant in log, between the neighbours of the best one. A theta within 1 % of
/// a number that models use is taken to be that number. `layout` and the components say what is rotated. Samples that
/// are too narrow for the components are left out; none left: 0.
double refined_theta(std::span<const RowSample* const> samples, RotaryLayout layout, ComponentRange components);

/// The same for a part of the width of each sample.
double refined_theta(std::span<const RowSample* const> samples, const RotationShape& shape);

}  // namespace attention_plasticity
