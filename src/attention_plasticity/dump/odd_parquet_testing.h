#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attention_plasticity/base/head_rows.h"
#include "attention_plasticity/base/temporary_folder_testing.h"

namespace arrow {
class Array;
class DataType;
}  // namespace arrow

namespace attention_plasticity {

enum class OddEncoding { automatic, plain, delta_and_byte_stream_split };

/// How a test file is laid out. The defaults give several row groups of several pages.
struct OddFormat {
  std::string codec = "uncompressed";  ///< as Arrow names it
  bool dictionary = true;
  bool page_v2 = false;
  OddEncoding encoding = OddEncoding::automatic;
  std::size_t rows_per_group = 40;
  std::size_t page_bytes = 256;
  bool checksums = false;
  bool arrow_schema = true;  ///< stored besides Parquet's own
};

struct OddColumn {
  std::string name;
  std::shared_ptr<arrow::Array> array;
  bool nullable = true;
};

std::shared_ptr<arrow::Array> array_of(const std::shared_ptr<arrow::DataType>& type, const std::string& json);

/// `[first,first+step,...]` with `count` numbers.
std::string json_range(std::size_t count, int first = 0, int step = 1);

/// Four rows that break no rule: buckets 0 0 1 1, ids 7 7 8 8, positions 0 1 2 3, vectors [0,1] [2,3] [4,5] [6,7].
std::vector<OddColumn> four_rows();
/// The same rows with `column` in place of the column of that name, or at the end.
std::vector<OddColumn> four_rows_with(OddColumn column);
std::vector<OddColumn> four_rows_without(const std::string& name);

void write_parquet(const std::filesystem::path& file, const std::vector<OddColumn>& columns,
                   const OddFormat& format = {});

/// Four rows of int32 columns, with vectors as old writers spell lists: `repeated float vector` at the top level, or
/// within a group.
enum class OldList { repeated_column, repeated_in_group };
void write_old_list(const std::filesystem::path& file, OldList spelling);

std::string read_bytes(const std::filesystem::path& file);
void write_bytes(const std::filesystem::path& file, const std::string& bytes);

/// The message of the Error(input) that `action` throws for `file`; "no error" if it throws nothing.
std::string input_error(const std::filesystem::path& file, const std::function<void()>& action);

}  // namespace attention_plasticity
