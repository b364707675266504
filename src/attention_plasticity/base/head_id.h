#pragma once

#include <compare>

namespace attention_plasticity {

/// A query head and the key head that it reads.
struct HeadId {
  int layer = 0;
  int q_head = 0;
  int k_head = 0;

  auto operator<=>(const HeadId&) const = default;
};

}  // namespace attention_plasticity
