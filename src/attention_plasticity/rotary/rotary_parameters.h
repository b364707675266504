#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "attention_plasticity/rotation.h"

namespace attention_plasticity {

/// The spelling in configs: "default", "linear", ...; "none" for none.
std::string_view rotary_kind_name(RotaryKind kind);
/// The kind of a `rope_type`; empty for an unknown name. "none" is unknown too, since a model without rotation has no
/// rope_type.
std::optional<RotaryKind> rotary_kind_of(std::string_view name);
/// The names that rotary_kind_of knows: "default, linear, ...".
std::string_view rotary_kind_names();

/// The parameters of a rotation. Fields that the kind does not use are ignored.
struct RotaryParameters {
  RotaryKind kind = RotaryKind::standard;
  double theta = 10000;                    ///< `rope_theta`, > 0; above 1 for yarn
  std::optional<double> factor;            ///< > 0; none: trained length / original length (yarn, longrope)
  std::optional<double> attention_factor;  ///< > 0; none: the value that the kind's paper proposes
  std::optional<double> mscale;  ///< yarn: together with mscale_all_dim, replaces the paper's attention factor
  std::optional<double> mscale_all_dim;
  double beta_fast = 32;  ///< yarn: pairs with more rotations than this over the original length keep their frequency
  double beta_slow = 1;   ///< yarn: frequencies of pairs with fewer rotations are divided by `factor`
  bool truncate = true;   ///< yarn: the ends of the ramp are rounded to whole pairs
  std::optional<double> low_freq_factor;   ///< llama3: as beta_slow
  std::optional<double> high_freq_factor;  ///< llama3: as beta_fast
  std::vector<double> short_factor;        ///< longrope: one per pair, up to the original length
  std::vector<double> long_factor;         ///< longrope: one per pair, beyond it
  std::vector<double> frequencies;         ///< `inv_freq`, listed: one per pair, in radians per token
  std::optional<double> original_length;   ///< `original_max_position_embeddings`; none: the trained length
  std::optional<double> trained_length;    ///< `max_position_embeddings`
};

/// Throws Error(usage) when a parameter is missing or out of range, whatever the dim.
void check_rotary_parameters(const RotaryParameters& parameters);

/// The rotation of the first `dim` components, in a dump whose largest position is `largest_position`: longrope uses
/// its long factors when that lies past the original length. Kind none gives R = I. Throws Error(usage) for a dim that
/// is odd or 0, for parameters that check_rotary_parameters refuses or that do not fit the dim, and for a `dynamic`
/// rotation of positions past the trained length.
Rotation make_rotation(const RotaryParameters& parameters, std::size_t dim, RotaryLayout layout,
                       double largest_position);

}  // namespace attention_plasticity
