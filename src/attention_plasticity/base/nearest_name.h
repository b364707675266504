#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace attention_plasticity {

/// The fewest insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`, no letter being
/// changed twice (optimal string alignment). Letters compare without case, and `-` equals `_`.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// What a mistyped name was meant to be: the name of the least edit distance, the first one in a tie. None when all
/// are farther than a third of the longer of the two names (a single edit is always near).
std::optional<std::string> nearest_name(std::string_view given, std::span<const std::string_view> known);

}  // namespace attention_plasticity
