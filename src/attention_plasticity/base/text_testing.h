#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace attention_plasticity {

/// Expects that a text contains every one of the parts.
inline void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
}

}  // namespace attention_plasticity
