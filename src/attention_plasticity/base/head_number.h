#pragma once

namespace attention_plasticity {

/// The largest number of a layer or a head. Dumps, arrays, options and tables keep to it, so that every table that the
/// program writes can be read, and a number may be the size of a list. No model has as many.
inline constexpr int most_head_number = 9999;

}  // namespace attention_plasticity
