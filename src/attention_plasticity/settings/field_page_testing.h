#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/settings/field.h"
#include "places.h"

namespace attention_plasticity {

/// Expects a row for each field in the tables of a page below docs/: its name, its default and, for a field with a
/// scope, the scope.
inline void expect_page_has_every_field(const std::string& page, std::span<const Field> fields) {
  std::istringstream text(read_text_file(source_folder() / "docs" / page));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  for (const Field& field : fields) {
    const std::string start = "| `" + field.name + "` | ";
    const auto row = std::ranges::find_if(lines, [&](const std::string& line) { return line.starts_with(start); });
    ASSERT_NE(row, lines.end()) << field.name;
    std::string rest = row->substr(start.size());
    std::erase(rest, '`');
    const std::string scope = field.scope.empty() ? "" : " " + field.scope_text() + " |";
    EXPECT_TRUE(rest.starts_with(field.default_text + " |" + scope)) << *row;
  }
}

}  // namespace attention_plasticity
