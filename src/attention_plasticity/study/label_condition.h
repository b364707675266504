#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attention_plasticity {

/// `induction>0.1`.
struct LabelComparison {
  enum class Sign { above, at_least, below, at_most };  // > >= < <=

  std::string label;
  Sign sign = Sign::above;
  double bound = 0;

  /// False for NaN.
  bool holds(double value) const;
};

/// Which heads are meant: those for which any of the comparisons holds.
struct LabelCondition {
  std::string text;  ///< as typed, without blanks
  std::vector<LabelComparison> any_of;
};

/// Comparisons between commas: `induction>0.1,duplicate>0.1`. Throws Error(usage) for anything else.
LabelCondition parse_label_condition(std::string_view text);

}  // namespace attention_plasticity
