#include "attention_plasticity/results/schema.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>
#include <string>

#include "attention_plasticity/base/text_file.h"
#include "places.h"

namespace attention_plasticity {
namespace {

TEST(Schema, NamesOfTablesFilesAndFieldsAreUnique) {
  std::set<std::string_view> names;
  for (const ResultTable& table : result_tables()) {
    for (const std::string_view name : {table.name, table.file, table.field}) {
      EXPECT_TRUE(names.insert(name).second) << name;
    }
    EXPECT_EQ(&result_table(table.id), &table) << table.name;
  }
}

TEST(Schema, EveryTableBeginsWithItsKeysAndEveryColumnHasAMeaning) {
  for (const ResultTable& table : result_tables()) {
    std::set<std::string_view> columns;
    bool keys_are_over = false;
    for (const ResultColumn& column : table.columns) {
      EXPECT_TRUE(columns.insert(column.name).second) << table.file << ": " << column.name;
      EXPECT_FALSE(column.is_key && keys_are_over) << table.file << ": " << column.name;
      keys_are_over = !column.is_key;
      EXPECT_FALSE(column.meaning.empty()) << column.name;
      EXPECT_FALSE(column.meaning.ends_with('.')) << column.name;
      EXPECT_LE(column.range.low, column.range.high) << column.name;
      EXPECT_TRUE(column.error_of.empty() || table.find(column.error_of) != nullptr) << column.name;
      const ResultColumn* count = table.find(column.counted_by);
      EXPECT_TRUE(column.counted_by.empty() || (count != nullptr && !count->counts.empty())) << column.name;
      EXPECT_TRUE(column.counts.empty() || column.type == ColumnType::integer) << column.name;
    }
    ASSERT_GE(table.columns.size(), 4U);
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      EXPECT_EQ(is_head_id(table.columns[i]), i < 3) << table.columns[i].name;
    }
  }
}

TEST(Schema, HeadlinesAreColumnsOfTheMetricsWithATitle) {
  for (const std::string_view name : headline_measures()) {
    const ResultColumn* column = result_table(TableId::metrics).find(name);
    ASSERT_NE(column, nullptr) << name;
    EXPECT_FALSE(column->title.empty()) << name;
    EXPECT_TRUE(is_headline(name));
  }
  EXPECT_FALSE(is_headline("ap_exact_se"));
}

TEST(Schema, PlasticityIsPooledOrPositionExact) {
  const auto exact = [](TableId id, const char* column) {
    return is_exact(result_table(id), *result_table(id).find(column));
  };
  EXPECT_TRUE(exact(TableId::metrics, "ap_exact"));
  EXPECT_TRUE(exact(TableId::metrics, "ap_exact_se"));
  EXPECT_TRUE(exact(TableId::metrics, "logit_fixed"));
  EXPECT_FALSE(exact(TableId::metrics, "ap_overall_se"));
  EXPECT_FALSE(exact(TableId::buckets, "plasticity"));
  EXPECT_FALSE(exact(TableId::time, "plasticity"));
  EXPECT_TRUE(exact(TableId::time, "ap_exact"));
  EXPECT_TRUE(exact(TableId::distance, "plasticity"));
}

TEST(Schema, WhatIsWrittenFollowsTheRun) {
  const ResultTable& metrics = result_table(TableId::metrics);
  const auto written = [&](const char* column, const WrittenColumns& run) {
    return is_written(*metrics.find(column), run);
  };
  EXPECT_TRUE(written("ap_overall", {}));
  EXPECT_FALSE(written("ap_overall_se", {}));
  EXPECT_TRUE(written("ap_overall_se", {.errors = true}));
  EXPECT_FALSE(written("ap_exact", {.errors = true}));
  EXPECT_TRUE(written("ap_exact", {.exact = true}));
  EXPECT_FALSE(written("ap_exact_se", {.exact = true}));
  EXPECT_TRUE(written("ap_exact_se", {.errors = true, .exact = true}));
  const WrittenColumns python{.errors = true, .exact = true, .python_compat = true};
  EXPECT_TRUE(written("ap_overall", python));
  EXPECT_FALSE(written("ap_exact", python));
  EXPECT_FALSE(is_written(result_table(TableId::distance), {}));
  EXPECT_TRUE(is_written(result_table(TableId::distance), {.exact = true}));
  EXPECT_FALSE(is_written(result_table(TableId::groups), {.exact = true}));
  EXPECT_TRUE(is_written(result_table(TableId::groups), {.errors = true}));
  EXPECT_FALSE(is_written(result_table(TableId::groups), python));
  EXPECT_FALSE(is_written(result_table(TableId::time), python));
  EXPECT_TRUE(is_written(result_table(TableId::components), python));
  EXPECT_EQ(written_name(*result_table(TableId::buckets).find("plasticity"), python), "ap_bucket");
  EXPECT_EQ(written_name(*result_table(TableId::buckets).find("plasticity"), {}), "plasticity");
}

std::string end_text(double end) { return fmt::format("{:g}", end); }

std::string range_text(const ValueRange& range) {
  if (std::isinf(range.low) && std::isinf(range.high)) return "any";
  if (std::isinf(range.high)) return "≥ " + end_text(range.low);
  return end_text(range.low) + " to " + end_text(range.high);
}

std::string needs_text(Needs needs) {
  switch (needs) {
    case Needs::nothing:
      return "always";
    case Needs::errors:
      return "with standard errors";
    case Needs::exact:
      return "with a known rotation";
    case Needs::exact_and_errors:
      return "with both";
  }
  return "";
}

// The part of docs/formats.md that describes the tables.
std::string page_part() {
  std::string text;
  for (const ResultTable& table : result_tables()) {
    text += fmt::format("### `{}`\n\n{}. Path: `{}`. Written: {}{}.\n\n", table.file, table.meaning, table.field,
                        needs_text(table.needs), table.in_python_compat ? "" : "; not with `compat: python`");
    text += "| column | type | range | written | Python toolkit | meaning |\n|---|---|---|---|---|---|\n";
    for (const ResultColumn& column : table.columns) {
      const bool in_toolkit = table.in_python_compat && !column.python_name.empty();
      text += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", column.name,
                          column.type == ColumnType::integer ? "integer" : "number", range_text(column.range),
                          needs_text(column.needs), in_toolkit ? fmt::format("`{}`", column.python_name) : "—",
                          column.meaning);
    }
    text += "\n";
  }
  return text;
}

TEST(Schema, DocsDescribeEveryTableAndColumn) {
  const std::string page = read_text_file(source_folder() / "docs/formats.md");
  EXPECT_NE(page.find(page_part()), std::string::npos) << "docs/formats.md should hold, as it stands here:\n\n"
                                                       << page_part();
}

}  // namespace
}  // namespace attention_plasticity
