#include "attention_plasticity/evaluation/label_condition.h"

#include <fmt/format.h>

#include <algorithm>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/results/csv.h"

namespace attention_plasticity {
namespace {

[[noreturn]] void refuse(std::string_view text) {
  throw Error(ErrorKind::usage,
              fmt::format("{} is not a condition such as induction>0.1; signs are > >= < <=, and a comma means or",
                          quoted_text(text)));
}

struct Parsed {
  LabelComparison comparison;
  std::string text;
};

Parsed parse_comparison(std::string_view text) {
  const std::size_t at = text.find_first_of("<>");
  if (at == std::string_view::npos) refuse(text);
  const bool or_equal = text.substr(at + 1).starts_with('=');
  const std::string_view label = trimmed_text(text.substr(0, at));
  const std::string_view bound = trimmed_text(text.substr(at + (or_equal ? 2 : 1)));
  const auto value = finite_number(bound);
  if (label.empty() || label.ends_with('=') || !value) refuse(text);
  using Sign = LabelComparison::Sign;
  const bool above = text[at] == '>';
  const Sign sign = above ? (or_equal ? Sign::at_least : Sign::above) : (or_equal ? Sign::at_most : Sign::below);
  return {{std::string(label), sign, *value}, fmt::format("{}{}{}{}", label, text[at], or_equal ? "=" : "", bound)};
}

}  // namespace

bool LabelComparison::holds(double value) const {
  switch (sign) {
    case Sign::above:
      return value > bound;
    case Sign::at_least:
      return value >= bound;
    case Sign::below:
      return value < bound;
    case Sign::at_most:
      return value <= bound;
  }
  return false;
}

LabelCondition parse_label_condition(std::string_view text) {
  LabelCondition condition;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    Parsed parsed = parse_comparison(text.substr(begin, end - begin));
    condition.text += (condition.text.empty() ? "" : ",") + parsed.text;
    condition.any_of.push_back(std::move(parsed.comparison));
    begin = end + 1;
  }
  return condition;
}

}  // namespace attention_plasticity
