#pragma once

#include <compare>

namespace attention_plasticity {

/// The largest number of a layer or a head. Dumps, arrays, options and tables keep to it, so that every table that the
/// program writes can be read, and a number may be the size of a list. No model has as many.
inline constexpr int most_head_number = 9999;

/// The two sides of a head: its queries and its keys.
enum class Side { query, key };

/// A query head or a key head, counted from 0.
struct HeadNumber {
  int layer = 0;
  int head = 0;
  auto operator<=>(const HeadNumber&) const = default;
};

}  // namespace attention_plasticity
