#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace attention_plasticity {

/// The smallest number of insertions, deletions, replacements and swaps of neighbours that change `a` into `b`, if no
/// letter is changed twice (optimal string alignment). Case is ignored, and `-` equals `_`.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The known name that a mistyped name probably means: the one with the smallest edit distance, the first in a tie.
/// None if every distance is above a third of the length of the longer name; a distance of 1 is always allowed.
std::optional<std::string> nearest_name(std::string_view given, std::span<const std::string_view> known);

}  // namespace attention_plasticity
