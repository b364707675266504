#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attention_plasticity {

/// A comparison of a label with a bound, such as `induction>0.1`.
struct LabelComparison {
  enum class Sign { above, at_least, below, at_most };  // > >= < <=

  std::string label;
  Sign sign = Sign::above;
  double bound = 0;

  /// False for NaN.
  bool holds(double value) const;
};

/// A condition on heads. It holds for a head when any of the comparisons holds.
struct LabelCondition {
  std::string text;  ///< as typed, without blanks
  std::vector<LabelComparison> any_of;
};

/// Parses comparisons separated by commas: `induction>0.1,duplicate>0.1`. Throws Error(usage) for other text.
LabelCondition parse_label_condition(std::string_view text);

}  // namespace attention_plasticity
