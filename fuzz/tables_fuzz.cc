// Any text as labels, as a table, or as a run.json. The first byte selects: 0 labels, 1 a table, 2 run.json.

#include <cmath>

#include "attention_plasticity/evaluation/head_labels.h"
#include "attention_plasticity/results/csv.h"
#include "attention_plasticity/results/run_json.h"
#include "target.h"

namespace ap = attention_plasticity;
using ap::fuzz::require;

namespace {

void read_labels(std::string_view text) {
  const ap::HeadLabels labels = ap::parse_head_labels(text, "labels.csv");
  require(!labels.labels.empty());
  for (const ap::HeadLabel& label : labels.labels) require(label.values.size() == labels.heads.size());
}

// Every field is read as each kind of number.
void read_table(std::string_view text) {
  const ap::CsvTable table = ap::parse_csv(text, "table.csv");
  require(table.rows.size() == table.lines.size());
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    require(table.rows[row].size() == table.columns.size());
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
      ap::fuzz::succeeds([&] { require(!std::isinf(table.number(row, column))); });
      ap::fuzz::succeeds([&] { require(table.index(row, column) >= 0); });
      ap::fuzz::succeeds([&] { require(table.whole_number(row, column) >= 0); });
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text = ap::fuzz::text_of(data + 1, size - 1);
  ap::fuzz::succeeds([&] {
    switch (data[0] % 3) {
      case 0:
        read_labels(text);
        break;
      case 1:
        read_table(text);
        break;
      default:
        ap::parse_run_record(text, "run.json");
    }
  });
  return 0;
}
