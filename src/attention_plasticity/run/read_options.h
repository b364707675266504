#pragma once

#include <cstddef>

#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/run/config.h"

namespace attention_plasticity {

/// How the files of heads are read in a run.
inline ReadOptions read_options(const RunConfig& config) {
  return {.drop_non_finite = config.non_finite == NonFinite::drop,
          .max_vector_width = static_cast<std::size_t>(config.max_vector_width)};
}

}  // namespace attention_plasticity
