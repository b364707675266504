#pragma once

#include <compare>
#include <tuple>

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

/// The queries or the keys of a head. Ordered by layer, queries first.
struct HeadSide {
  Side side = Side::query;
  HeadNumber head;

  friend auto operator<=>(const HeadSide& a, const HeadSide& b) {
    return std::tuple(a.head.layer, a.side, a.head.head) <=> std::tuple(b.head.layer, b.side, b.head.head);
  }
  friend bool operator==(const HeadSide&, const HeadSide&) = default;
};

}  // namespace attention_plasticity
