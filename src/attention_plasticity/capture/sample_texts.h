#pragma once

#include <string_view>
#include <vector>

namespace attention_plasticity {

/// A page that was built into the library.
struct SampleText {
  std::string_view name;  ///< capture.md
  std::string_view text;
};

/// The pages of the project's documentation by name, some 25,000 words: texts for a first try.
std::vector<SampleText> sample_texts();

}  // namespace attention_plasticity
