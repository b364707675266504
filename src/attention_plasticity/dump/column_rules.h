#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <variant>

namespace attention_plasticity {

/// A number as a flat column stores it, widened without loss: null, an integer below 2^63, one above, or a real.
using Number = std::variant<std::monostate, std::int64_t, std::uint64_t, double>;

/// A value that a column's rule does not allow. The text continues a sentence that begins with the column's name.
struct BadValue : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Integers from 0 to 2^63 - 1.
std::int64_t to_bucket(const Number& number);

/// Integers from 0 to 2^63 - 1.
std::uint64_t to_example(const Number& number);

/// Finite numbers >= 0. Integers above 2^53 are rounded.
double to_position(const Number& number);

/// The window in whole tokens, or none for full attention: null, NaN and what is below 1, because a window of a
/// fraction of a token cuts to nothing, and infinity, because it cuts nothing. Every number is allowed.
std::optional<double> to_window(const Number& number);

}  // namespace attention_plasticity
