#pragma once

#include <string>

namespace attention_plasticity {

/// A number for people in this format of fmt, such as "{:+.4f}"; "-" for NaN.
std::string number_text(double value, const char* format);

/// A probability for people, with four decimals.
std::string probability_text(double p);

}  // namespace attention_plasticity
