#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/run/config_fields.h"

namespace attention_plasticity {

/// Expects a row with its default for each field in the tables of a page below docs/.
inline void expect_page_has_every_field(const std::string& page, std::span<const ConfigField> fields) {
  std::istringstream text(read_text_file(std::filesystem::path(AP_SOURCE_DIR) / "docs" / page));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  for (const ConfigField& field : fields) {
    const std::string start = "| `" + std::string(field.name) + "` | ";
    const auto row = std::ranges::find_if(lines, [&](const std::string& line) { return line.starts_with(start); });
    ASSERT_NE(row, lines.end()) << field.name;
    const std::string rest = row->substr(start.size());
    const std::string default_text(field.default_text);
    EXPECT_TRUE(rest.starts_with("`" + default_text + "` |") || rest.starts_with(default_text + " |")) << *row;
  }
}

}  // namespace attention_plasticity
