#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "attention_plasticity/rotary/rotation.h"

namespace attention_plasticity {

/// How a model's frequencies come from its theta.
enum class RotaryKind {
  none,      ///< no rotation
  standard,  ///< theta^(-2i/dim): RoPE (Su et al. 2021), spelled "default"
  linear,    ///< divided by `factor` (position interpolation, Chen et al. 2023)
  dynamic,   ///< as standard up to the trained length; beyond it they depend on the length of each sequence
  yarn,      ///< high ones as standard, low ones divided by `factor`, a ramp between (YaRN, Peng et al. 2023)
  llama3,    ///< the same idea with a ramp over wavelengths (Llama 3.1)
  longrope,  ///< each divided by a factor of its own (LongRoPE, Ding et al. 2024)
};

/// As configs spell it: "default", "linear", ...; "none" for none.
std::string_view rotary_kind_name(RotaryKind kind);
/// The kind of a `rope_type`; nothing for a name that is not known. "none" is not a name: such a model has no
/// rope_type.
std::optional<RotaryKind> rotary_kind_of(std::string_view name);
/// The names that rotary_kind_of knows, as "default, linear, ...".
std::string_view rotary_kind_names();

/// What the frequencies of a rotation are computed from. Fields that the kind does not use are ignored.
struct RotaryParameters {
  RotaryKind kind = RotaryKind::standard;
  double theta = 10000;                    ///< `rope_theta`, > 0; above 1 for yarn
  std::optional<double> factor;            ///< > 0; none: trained length / original length (yarn, longrope)
  std::optional<double> attention_factor;  ///< > 0; none: what the paper of the kind proposes
  std::optional<double> mscale;            ///< yarn: with mscale_all_dim, replaces the paper's attention factor
  std::optional<double> mscale_all_dim;
  double beta_fast = 32;  ///< yarn: pairs with more rotations than this over the original length keep their frequency
  double beta_slow = 1;   ///< yarn: pairs with fewer are divided by `factor`
  bool truncate = true;   ///< yarn: the ends of the ramp are whole pairs
  std::optional<double> low_freq_factor;   ///< llama3: as beta_slow
  std::optional<double> high_freq_factor;  ///< llama3: as beta_fast
  std::vector<double> short_factor;        ///< longrope: one per pair, up to the original length
  std::vector<double> long_factor;         ///< longrope: one per pair, beyond it
  std::optional<double> original_length;   ///< `original_max_position_embeddings`; none: the trained length
  std::optional<double> trained_length;    ///< `max_position_embeddings`
};

/// Throws Error(usage) for parameters that give no rotation whatever the dim: missing ones, numbers out of range.
void check_rotary_parameters(const RotaryParameters& parameters);

/// The rotation of the first `dim` components, in a dump that reaches to `largest_position`: longrope takes its long
/// factors when it lies past the original length. Kind none gives R = I. Throws Error(usage) for a dim that is odd or
/// 0, for parameters that check_rotary_parameters refuses or that do not fit the dim, and for a `dynamic` rotation of
/// positions past the trained length.
Rotation make_rotation(const RotaryParameters& parameters, std::size_t dim, RotaryLayout layout,
                       double largest_position);

}  // namespace attention_plasticity
