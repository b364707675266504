#include "attention_plasticity/dump/text_column.h"

#include <fmt/format.h>

#include <algorithm>

#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/dump/parquet_file.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

/// A message about a Parquet file without the advice at its end, where that is about heads and dumps.
std::string without_advice_on_heads(const std::string& message) {
  const std::size_t advice = std::min(message.rfind("; "), message.size());
  const bool on_heads =
      message.find(" head", advice) != std::string::npos || message.find(" dump", advice) != std::string::npos;
  return on_heads ? message.substr(0, advice) : message;
}

ParquetFile::Column text_column(const ParquetFile& source, const std::filesystem::path& file, const std::string& name) {
  if (auto column = source.find(name, ColumnKind::text)) return *std::move(column);
  throw Error(ErrorKind::input,
              fmt::format("there is no column {}, only {}; pass `text_field`", name, source.column_names()),
              file.string());
}

}  // namespace

void read_text_column(const std::filesystem::path& file, const std::string& name,
                      const std::function<bool(std::optional<std::string_view>)>& sink) {
  try {
    ParquetFile source(file, default_max_vector_width);
    const ParquetFile::Column column = text_column(source, file, name);
    source.prepare({column}, false);
    bool goes_on = true;
    const auto until_refused = [&](std::optional<std::string_view> text) { return goes_on = sink(text); };
    for (int group = 0; group < source.row_groups() && goes_on; ++group) {
      source.read_texts(group, column, until_refused);
    }
    source.finish();
  } catch (const Error& error) {
    throw Error(error.kind(), without_advice_on_heads(error.what()), error.file());
  }
}

}  // namespace attention_plasticity
