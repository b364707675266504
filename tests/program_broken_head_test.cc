// A head that cannot be read fails alone, and its line says why.

#include <arrow/api.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "attention_plasticity/dump/head_file_writer.h"
#include "attention_plasticity/dump/layout.h"
#include "program_support.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

HeadRows healthy_rows() {
  HeadRows rows;
  rows.width = 2;
  for (int row = 0; row < 24; ++row) {
    rows.bucket.push_back(row / 8);
    rows.example.push_back(static_cast<std::uint64_t>(row % 2));
    rows.position.push_back(row);
    rows.vectors.push_back(static_cast<float>(row % 5) + 0.25F);
    rows.vectors.push_back(static_cast<float>(row % 7) - 2.5F);
  }
  return rows;
}

HeadRows rows_with(std::size_t row, float component) {
  HeadRows rows = healthy_rows();
  rows.vectors[2 * row + 1] = component;
  return rows;
}

void write_with(const fs::path& file, const char* name, const std::shared_ptr<arrow::Array>& array) {
  write_parquet(file, four_rows_with({name, array}));
}

/// Changes a byte of the first page, which is a zstd frame. Every frame begins with the same four bytes.
void flip_a_byte_of_a_page(const fs::path& file) {
  write_head_file(file, healthy_rows());
  std::string bytes = read_bytes(file);
  const std::size_t frame = bytes.find("\x28\xb5\x2f\xfd");
  ASSERT_NE(frame, std::string::npos);
  ++bytes[frame + 6];
  write_bytes(file, bytes);
}

struct Fault {
  const char* message;  ///< how the failure's message begins
  std::function<void(const fs::path& file)> make;
  Side side = Side::query;
};

const float nan = std::numeric_limits<float>::quiet_NaN();
const float infinity = std::numeric_limits<float>::infinity();

/// Each fault is made in a head of its own.
std::vector<Fault> faults() {
  return {
      {"vector holds NaN in row 5; capture this head again, or set non_finite: drop to leave such rows out",
       [](const fs::path& file) { write_head_file(file, rows_with(5, nan)); }},
      {"vector holds infinity in row 0;", [](const fs::path& file) { write_head_file(file, rows_with(0, -infinity)); }},
      {"vector holds NaN in row 23;", [](const fs::path& file) { write_head_file(file, rows_with(23, nan)); },
       Side::key},
      {"vector is null in row 1;",
       [](const fs::path& file) {
         write_with(file, "vector", array_of(arrow::list(arrow::float32()), "[[0,1],null,[4,5],[6,7]]"));
       }},
      {"vector has 1 components where the rows before have 2 in row 2;",
       [](const fs::path& file) {
         write_with(file, "vector", array_of(arrow::list(arrow::float32()), "[[0,1],[2,3],[4],[6,7]]"));
       }},
      {"the file has no rows;",
       [](const fs::path& file) {
         HeadRows none;
         none.width = 2;
         write_head_file(file, none);
       }},
      {"this is a Git LFS pointer, not the data it stands for; run `git lfs pull`",
       [](const fs::path& file) { write_bytes(file, "version https://git-lfs.github.com/spec/v1\noid sha256:0\n"); }},
      {"this is an HTML page, not a Parquet file: the download went wrong;",
       [](const fs::path& file) { write_bytes(file, "<!DOCTYPE html>\n<html><body>401</body></html>\n"); }},
      {"the Parquet file is truncated: it ends after 900 bytes without its footer;",
       [](const fs::path& file) {
         write_head_file(file, healthy_rows());
         write_bytes(file, read_bytes(file).substr(0, 900));
       }},
      {"a page of column 'bucket' has a wrong checksum: the file is damaged;", flip_a_byte_of_a_page},
      {"q vectors have 2 components, k vectors 3",
       [](const fs::path& file) {
         HeadRows rows = healthy_rows();
         rows.width = 3;
         rows.vectors.resize(3 * rows.size(), 1.0F);
         write_head_file(file, rows);
       },
       Side::key},
      {"key head 11 of layer 0, which this head reads, was not captured",
       [](const fs::path& file) { fs::remove(file); }, Side::key},
      {"sliding_window changes from 32 to 64 (a head must have one window) in row 2;",
       [](const fs::path& file) { write_with(file, "sliding_window", array_of(arrow::int64(), "[32,32,64,64]")); }},
      {"sliding_window changes from 32 to none ",
       [](const fs::path& file) { write_with(file, "sliding_window", array_of(arrow::int64(), "[32,32,null,32]")); }},
      {"position is negative (-2) in row 2;",
       [](const fs::path& file) { write_with(file, "position", array_of(arrow::int32(), "[0,1,-2,3]")); }},
      {"bucket is null in row 3;",
       [](const fs::path& file) { write_with(file, "bucket", array_of(arrow::int32(), "[0,0,1,null]")); }},
      {"this is not a Parquet file;", [](const fs::path& file) { write_bytes(file, "OggS some other thing"); }},
      {"this is a file compressed by zip, not a Parquet file;",
       [](const fs::path& file) { write_bytes(file, "PK\x03\x04 some other thing"); }},
      {"the file is empty;", [](const fs::path& file) { write_bytes(file, ""); }},
      {"there is no column 'vector'; the columns are: bucket, example_id, position",
       [](const fs::path& file) { write_parquet(file, four_rows_without("vector")); }},
  };
}

fs::path head_file(const fs::path& dump, Side side, std::size_t head) {
  return dump / head_folder_name(side, {0, static_cast<int>(head)}) / "data.parquet";
}

class ProgramBrokenHead : public ProgramTest {
 protected:
  static void SetUpTestSuite() {}
  static void TearDownTestSuite() {}

  /// Writes healthy heads of one layer, each with its own key head.
  void write_dump(std::size_t heads) const {
    for (std::size_t head = 0; head < heads; ++head) {
      for (const Side side : {Side::query, Side::key}) {
        write_head_file(head_file(here_ / "dump", side, head), healthy_rows());
      }
    }
  }
};

TEST_F(ProgramBrokenHead, EachFaultHasItsOwnMessage) {
  const std::vector<Fault> all = faults();
  write_dump(all.size() + 1);
  for (std::size_t head = 0; head < all.size(); ++head) all[head].make(head_file(here_ / "dump", all[head].side, head));
  const std::string heads = std::to_string(all.size() + 1);
  const Outcome outcome = run(
      analyze_words("dump", {"--max_workers", "1", "--num_q_heads", heads, "--num_k_heads", heads, "--rope", "none"}));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(is_plain_text(outcome.err)) << outcome.err;

  const std::vector<std::string> lines = lines_of(outcome.err);
  ASSERT_EQ(lines.size(), all.size() + 1) << outcome.err;
  const auto json = nlohmann::json::parse(read_bytes(here_ / "run.json"));
  ASSERT_EQ(json["heads"]["failed"].size(), all.size());
  for (std::size_t head = 0; head < all.size(); ++head) {
    const std::string file = head_file("dump", all[head].side, head).string();
    const bool names_both_files = std::string(all[head].message).starts_with("q vectors have");
    const std::string named = names_both_files ? head_file("dump", Side::query, head).string() : file;
    const std::string start = fmt::format("[{}/{}] layer 0 q_head {} k_head {} failed: {}: {}", head + 1, heads, head,
                                          head, named, all[head].message);
    EXPECT_TRUE(lines[head].starts_with(start)) << lines[head] << "\n" << start;
    const auto& failed = json["heads"]["failed"][head];
    EXPECT_EQ(failed["q_head"], head);
    EXPECT_EQ(failed["file"], named);
    EXPECT_TRUE(failed["error"].get<std::string>().starts_with(all[head].message)) << failed;
  }
  EXPECT_NE(lines.back().find(": plasticity "), std::string::npos) << lines.back();
  EXPECT_EQ(lines_of(read_bytes(here_ / "head_metrics.csv")).size(), 2U);
}

TEST_F(ProgramBrokenHead, NonFiniteRowsAreDroppedAndCountedOnRequest) {
  write_dump(2);
  write_head_file(head_file(here_ / "dump", Side::query, 0), rows_with(5, nan));
  write_head_file(head_file(here_ / "dump", Side::key, 1), rows_with(0, infinity));
  const Outcome outcome = run(analyze_words("dump", {"--non_finite", "drop", "--max_workers", "1"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const std::string name : {"l00h00q", "l00h01k"}) {
    EXPECT_EQ(lines_starting(outcome.err,
                             "warning: dump/" + name + "/data.parquet: dropped 1 of 24 rows with NaN or infinity")
                  .size(),
              1U)
        << outcome.err;
  }
  const std::vector<std::string> rows = lines_of(read_bytes(here_ / "head_metrics.csv"));
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_TRUE(rows[1].starts_with("0,0,0,23,24,2,")) << rows[1];
  EXPECT_TRUE(rows[2].starts_with("0,1,1,24,23,2,")) << rows[2];
}

TEST_F(ProgramBrokenHead, BrokenKeyFileFailsAllHeadsThatReadIt) {
  write_dump(4);
  write_bytes(head_file(here_ / "dump", Side::key, 0), "nonsense");
  for (const int head : {2, 3}) fs::remove_all(head_file(here_ / "dump", Side::key, head).parent_path());
  const Outcome outcome = run(analyze_words("dump", {"--quiet", "--max_workers", "3"}));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(lines_starting(outcome.err, "[").size(), 2U) << outcome.err;
  const std::vector<std::string> rows = lines_of(read_bytes(here_ / "head_metrics.csv"));
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_TRUE(rows[1].starts_with("0,2,1,"));
  EXPECT_TRUE(rows[2].starts_with("0,3,1,"));
}

}  // namespace
}  // namespace attention_plasticity
