#pragma once

#include <cstddef>
#include <vector>

namespace attention_plasticity {

/// The jackknife group of each row of a head. All rows of an example are in one group.
struct JackknifeGroups {
  std::size_t count = 0;              ///< 0: nothing is left out
  std::vector<std::size_t> of_query;  ///< group of each query, below `count`; empty if `count` is 0
  std::vector<std::size_t> of_key;    ///< the same for keys
};

}  // namespace attention_plasticity
