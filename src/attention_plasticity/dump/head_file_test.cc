#include "attention_plasticity/dump/head_file.h"

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "attention_plasticity/dump/odd_parquet_testing.h"

namespace attention_plasticity {
namespace {

std::shared_ptr<arrow::DataType> pairs() { return arrow::list(arrow::float32()); }
std::string correct_it() { return "; correct the file or capture this head again"; }
std::string one_width() { return "; every row needs one vector of the same width: capture this head again"; }

/// Two rows to a row group, so that faults lie on both sides of a boundary.
HeadFile read(const std::vector<OddColumn>& columns, Side side = Side::query, const ReadOptions& options = {}) {
  const TemporaryFolder folder;
  OddFormat format;
  format.rows_per_group = 2;
  write_parquet(folder / "data.parquet", columns, format);
  return read_head_file(folder / "data.parquet", side, options);
}

std::string refusal(const std::vector<OddColumn>& columns, const ReadOptions& options = {}) {
  const TemporaryFolder folder;
  OddFormat format;
  format.rows_per_group = 2;
  write_parquet(folder / "data.parquet", columns, format);
  return input_error(folder / "data.parquet", [&] { read_head_file(folder / "data.parquet", Side::query, options); });
}

std::string refusal_with(const std::string& column, const std::shared_ptr<arrow::DataType>& type,
                         const std::string& json) {
  return refusal(four_rows_with({column, array_of(type, json)}));
}

OddColumn window(const std::shared_ptr<arrow::DataType>& type, const std::string& json) {
  return {"sliding_window", array_of(type, json)};
}

TEST(HeadFile, ReadsEveryColumnInFileOrder) {
  const HeadFile file = read(four_rows());
  EXPECT_EQ(file.rows.width, 2U);
  EXPECT_EQ(file.rows.bucket, (std::vector<std::int64_t>{0, 0, 1, 1}));
  EXPECT_EQ(file.rows.example, (std::vector<std::uint64_t>{7, 7, 8, 8}));
  EXPECT_EQ(file.rows.position, (std::vector<double>{0, 1, 2, 3}));
  EXPECT_EQ(file.rows.vectors, (LargeVector<float>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_FALSE(file.rows.window);
  EXPECT_EQ(file.dropped_rows, 0U);
}

TEST(HeadFile, LeavesExamplesEmptyWhereTheColumnIsMissing) {
  const HeadFile file = read(four_rows_without("example_id"));
  EXPECT_EQ(file.rows.size(), 4U);
  EXPECT_TRUE(file.rows.example.empty());
}

TEST(HeadFile, ReadsLargeIdsExactly) {
  const auto ids = array_of(arrow::uint64(), "[9223372036854775807,0,1,9007199254740993]");
  EXPECT_EQ(read(four_rows_with({"example_id", ids})).rows.example,
            (std::vector<std::uint64_t>{9223372036854775807U, 0, 1, 9007199254740993U}));
}

TEST(HeadFile, RoundsDoublesToFloats) {
  const auto vectors = array_of(arrow::list(arrow::float64()), "[[0.1,3.4028235e38],[2,3],[4,5],[1e-60,7]]");
  const HeadRows rows = read(four_rows_with({"vector", vectors})).rows;
  EXPECT_EQ(rows.vectors[0], 0.1F);
  EXPECT_EQ(rows.vectors[1], 3.4028235e38F);
  EXPECT_EQ(rows.vectors[6], 0.0F);
}

TEST(HeadFile, TakesTheWindowOfQueriesWhateverItsType) {
  for (const auto& type : {arrow::int8(), arrow::int32(), arrow::int64(), arrow::uint64(), arrow::float16(),
                           arrow::float32(), arrow::float64()}) {
    EXPECT_EQ(read(four_rows_with(window(type, "[64,64,64,64]"))).rows.window, 64.0) << type->ToString();
  }
  EXPECT_EQ(read(four_rows_with(window(arrow::float64(), "[64.9,64.2,64,64]"))).rows.window, 64.0);
}

TEST(HeadFile, ReadsNoWindowAsFullAttention) {
  EXPECT_FALSE(read(four_rows_with(window(arrow::null(), "[null,null,null,null]"))).rows.window);
  EXPECT_FALSE(read(four_rows_with(window(arrow::int64(), "[null,0,-1,null]"))).rows.window);
  EXPECT_FALSE(read(four_rows_with(window(arrow::float64(), "[null,NaN,0.5,-Inf]"))).rows.window);
}

TEST(HeadFile, RefusesTwoWindowsInOneFile) {
  EXPECT_EQ(refusal_with("sliding_window", arrow::int32(), "[64,64,32,64]"),
            "sliding_window changes from 64 to 32 (a head must have one window) in row 2" + correct_it());
  EXPECT_EQ(refusal_with("sliding_window", arrow::float64(), "[64,NaN,64,64]"),
            "sliding_window changes from 64 to none (a head must have one window) in row 1" + correct_it());
  EXPECT_EQ(refusal_with("sliding_window", arrow::int32(), "[null,null,null,64]"),
            "sliding_window changes from none to 64 (a head must have one window) in row 3" + correct_it());
}

TEST(HeadFile, DoesNotLookAtTheWindowOfKeys) {
  EXPECT_FALSE(read(four_rows_with(window(arrow::int32(), "[64,32,null,64]")), Side::key).rows.window);
  EXPECT_FALSE(read(four_rows_with(window(arrow::utf8(), R"(["a","b","c","d"])")), Side::key).rows.window);
}

TEST(HeadFile, NamesTheColumnsThereAreWhereOneIsMissing) {
  EXPECT_EQ(refusal(four_rows_without("bucket")),
            "there is no column 'bucket'; the columns are: example_id, position, vector");
  EXPECT_EQ(refusal(four_rows_without("position")),
            "there is no column 'position'; the columns are: bucket, example_id, vector");
  EXPECT_EQ(refusal(four_rows_without("vector")),
            "there is no column 'vector'; the columns are: bucket, example_id, position");
}

TEST(HeadFile, KeepsNamesFromTheFileOnOneLine) {
  std::vector<OddColumn> columns;
  columns.reserve(25);
  for (int i = 0; i < 25; ++i) columns.push_back({"a\n" + std::to_string(i), array_of(arrow::int32(), "[1]")});
  const std::string message = refusal(columns);
  EXPECT_TRUE(message.starts_with("there is no column 'bucket'; the columns are: a 0, a 1, ")) << message;
  EXPECT_TRUE(message.ends_with(", a 19 and 5 more")) << message;
}

TEST(HeadFile, NamesTheTypeOfAColumnOfTheWrongOne) {
  const std::string needs_integer = "; an integer is needed";
  const std::string needs_number = "; an integer, half, float or double is needed";
  EXPECT_EQ(refusal_with("bucket", arrow::float64(), "[0,0,1,1]"), "column 'bucket' holds DOUBLE" + needs_integer);
  EXPECT_EQ(refusal_with("bucket", arrow::date32(), "[0,0,1,1]"), "column 'bucket' holds INT32 (Date)" + needs_integer);
  EXPECT_EQ(refusal_with("example_id", arrow::utf8(), R"(["a","b","c","d"])"),
            "column 'example_id' holds BYTE_ARRAY (String)" + needs_integer);
  EXPECT_EQ(refusal_with("position", arrow::boolean(), "[true,true,false,true]"),
            "column 'position' holds BOOLEAN" + needs_number);
  EXPECT_EQ(refusal_with("position", arrow::list(arrow::int32()), "[[0],[1],[2],[3]]"),
            "column 'position' holds a list of INT32" + needs_number);
  EXPECT_EQ(refusal_with("sliding_window", arrow::utf8(), R"(["a","b","c","d"])"),
            "column 'sliding_window' holds BYTE_ARRAY (String)" + needs_number);
  const auto point = arrow::struct_({arrow::field("x", arrow::int32()), arrow::field("y", arrow::int32())});
  EXPECT_EQ(refusal_with("bucket", point, R"([[1,2],[1,2],[1,2],[1,2]])"),
            "column 'bucket' is a group of columns" + needs_integer);
}

TEST(HeadFile, NamesTheTypeOfVectorsThatAreNone) {
  const std::string needs_list = "; a list of half, float or double is needed";
  EXPECT_EQ(refusal_with("vector", arrow::float32(), "[0,1,2,3]"), "column 'vector' holds FLOAT" + needs_list);
  EXPECT_EQ(refusal_with("vector", arrow::list(arrow::int32()), "[[0],[1],[2],[3]]"),
            "column 'vector' holds a list of INT32" + needs_list);
  EXPECT_EQ(refusal_with("vector", arrow::list(pairs()), "[[[0]],[[1]],[[2]],[[3]]]"),
            "column 'vector' holds a list of FLOAT" + needs_list);
}

TEST(HeadFile, RefusesTwoColumnsOfOneName) {
  auto columns = four_rows();
  columns.push_back(columns.front());
  EXPECT_EQ(refusal(columns), "there are two columns 'bucket'; write the file with one");
}

TEST(HeadFile, RefusesAFileWithoutRows) {
  EXPECT_EQ(refusal({{"bucket", array_of(arrow::int32(), "[]")},
                     {"position", array_of(arrow::int32(), "[]")},
                     {"vector", array_of(pairs(), "[]")}}),
            "the file has no rows; capture this head again");
}

TEST(HeadFile, NamesTheFirstRowOfANumberThatBreaksItsRule) {
  EXPECT_EQ(refusal_with("bucket", arrow::int32(), "[0,null,null,1]"), "bucket is null in row 1" + correct_it());
  EXPECT_EQ(refusal_with("bucket", arrow::int8(), "[0,0,-1,-2]"), "bucket is negative (-1) in row 2" + correct_it());
  EXPECT_EQ(refusal_with("bucket", arrow::uint64(), "[0,0,1,9223372036854775808]"),
            "bucket is 9223372036854775808, beyond 2^63 - 1 in row 3" + correct_it());
  EXPECT_EQ(refusal_with("example_id", arrow::int64(), "[7,7,8,null]"), "example_id is null in row 3" + correct_it());
  EXPECT_EQ(refusal_with("example_id", arrow::uint64(), "[18446744073709551615,7,8,8]"),
            "example_id is 18446744073709551615, beyond 2^63 - 1 in row 0" + correct_it());
  EXPECT_EQ(refusal_with("example_id", arrow::int64(), "[-5,7,8,8]"),
            "example_id is negative (-5) in row 0" + correct_it());
  EXPECT_EQ(refusal_with("position", arrow::float64(), "[0,1,NaN,3]"), "position is NaN in row 2" + correct_it());
  EXPECT_EQ(refusal_with("position", arrow::float64(), "[0,1,Inf,3]"), "position is infinite in row 2" + correct_it());
  EXPECT_EQ(refusal_with("position", arrow::float32(), "[0,-0.5,2,3]"),
            "position is negative (-0.5) in row 1" + correct_it());
  EXPECT_EQ(refusal_with("position", arrow::int32(), "[null,1,2,3]"), "position is null in row 0" + correct_it());
}

TEST(HeadFile, NamesTheFirstRowOfAVectorThatBreaksItsRule) {
  for (const auto& type : {pairs(), arrow::large_list(arrow::float64()), arrow::fixed_size_list(arrow::float16(), 2)}) {
    EXPECT_EQ(refusal_with("vector", type, "[[0,1],[2,3],null,[6,7]]"), "vector is null in row 2" + one_width());
    EXPECT_EQ(refusal_with("vector", type, "[[0,1],[2,3],[4,5],[6,null]]"),
              "vector has a null component (index 1) in row 3" + one_width());
  }
  EXPECT_EQ(refusal_with("vector", pairs(), "[[0,1],[2,3],[4,5,6],[6,7]]"),
            "vector has 3 components where the rows before have 2 in row 2" + one_width());
  EXPECT_EQ(refusal_with("vector", pairs(), "[[0,1],[2,3],[4,5],[6]]"),
            "vector has 1 components where the rows before have 2 in row 3" + one_width());
  EXPECT_EQ(refusal_with("vector", pairs(), "[[0,1],[],[4,5],[6,7]]"),
            "vector has 0 components where the rows before have 2 in row 1" + one_width());
  EXPECT_EQ(refusal_with("vector", pairs(), "[[],[],[],[]]"), "vector has no components in row 0" + one_width());
  EXPECT_EQ(refusal_with("vector", arrow::list(arrow::float64()), "[[0,1],[2,3],[4,5],[6,-1e39]]"),
            "vector holds -1e+39, too large for single precision, in row 3" + one_width());
}

TEST(HeadFile, NamesTheFirstRowThatIsNotFinite) {
  const std::string advice = "; capture this head again, or set non_finite: drop to leave such rows out";
  for (const auto& type : {arrow::float16(), arrow::float32(), arrow::float64()}) {
    EXPECT_EQ(refusal_with("vector", arrow::list(type), "[[0,1],[2,3],[4,NaN],[Inf,7]]"),
              "vector holds NaN in row 2" + advice);
    EXPECT_EQ(refusal_with("vector", arrow::list(type), "[[0,1],[-Inf,3],[4,NaN],[6,7]]"),
              "vector holds infinity in row 1" + advice);
  }
}

TEST(HeadFile, NamesTheSmallestRowAmongFaultsOfSeveralColumns) {
  auto columns = four_rows_with({"bucket", array_of(arrow::int32(), "[0,null,1,1]")});
  columns[2].array = array_of(arrow::int32(), "[-1,1,2,3]");
  EXPECT_EQ(refusal(columns), "position is negative (-1) in row 0" + correct_it());
  columns[2].array = array_of(arrow::int32(), "[0,-1,2,3]");
  EXPECT_EQ(refusal(columns), "bucket is null in row 1" + correct_it());
  columns = four_rows_with({"vector", array_of(pairs(), "[[NaN,1],null,[4,5],[6,7]]")});
  EXPECT_TRUE(refusal(columns).starts_with("vector holds NaN in row 0; "));
}

TEST(HeadFile, DropsAndCountsRowsThatAreNotFiniteOnRequest) {
  ReadOptions options;
  options.drop_non_finite = true;
  const auto vectors = array_of(pairs(), "[[NaN,1],[2,3],[4,Inf],[6,7]]");
  auto columns = four_rows_with({"vector", vectors});
  columns[0].array = array_of(arrow::int32(), "[1,2,3,4]");
  columns[1].array = array_of(arrow::int32(), "[5,6,7,8]");
  const HeadFile file = read(columns, Side::query, options);
  EXPECT_EQ(file.dropped_rows, 2U);
  EXPECT_EQ(file.rows.bucket, (std::vector<std::int64_t>{2, 4}));
  EXPECT_EQ(file.rows.example, (std::vector<std::uint64_t>{6, 8}));
  EXPECT_EQ(file.rows.position, (std::vector<double>{1, 3}));
  EXPECT_EQ(file.rows.vectors, (LargeVector<float>{2, 3, 6, 7}));
}

TEST(HeadFile, CountsRowsInTheFileAfterRowsWereDropped) {
  ReadOptions options;
  options.drop_non_finite = true;
  const auto columns = four_rows_with({"vector", array_of(pairs(), "[[NaN,1],[2,3],[4,5],null]")});
  EXPECT_EQ(refusal(columns, options), "vector is null in row 3" + one_width());
}

TEST(HeadFile, RefusesAFileOfWhichNoRowIsLeft) {
  ReadOptions options;
  options.drop_non_finite = true;
  const auto columns = four_rows_with({"vector", array_of(pairs(), "[[NaN,1],[NaN,3],[4,Inf],[-Inf,7]]")});
  EXPECT_EQ(refusal(columns, options),
            "the vectors of all 4 rows hold NaN or infinity, so no row is left; capture this head again");
}

TEST(HeadFooter, SaysWhatTheFileHolds) {
  const TemporaryFolder folder;
  OddFormat format;
  format.rows_per_group = 3;
  write_parquet(folder / "data.parquet", four_rows(), format);
  const HeadFooter footer = read_head_footer(folder / "data.parquet");
  EXPECT_EQ(footer.rows, 4U);
  EXPECT_EQ(footer.width, 2U);
}

TEST(HeadFooter, IsRefusedForUnreadableFilesAsRowsAre) {
  const TemporaryFolder folder;
  write_bytes(folder / "data.parquet", "version https://git-lfs.github.com/spec/v1\n");
  EXPECT_EQ(input_error(folder / "data.parquet", [&] { read_head_footer(folder / "data.parquet"); }),
            input_error(folder / "data.parquet", [&] { read_head_file(folder / "data.parquet", Side::key); }));
}

TEST(HeadTokens, AreTheRowsWithoutTheirVectors) {
  const TemporaryFolder folder;
  const auto file = folder / "data.parquet";
  write_parquet(file, four_rows_with(window(arrow::int32(), "[64,64,64,64]")));
  const HeadTokens tokens = read_head_tokens(file, Side::query);
  EXPECT_EQ(tokens.width, 2U);
  EXPECT_EQ(tokens.bucket, (std::vector<std::int64_t>{0, 0, 1, 1}));
  EXPECT_EQ(tokens.example, (std::vector<std::uint64_t>{7, 7, 8, 8}));
  EXPECT_EQ(tokens.position, (std::vector<double>{0, 1, 2, 3}));
  EXPECT_EQ(tokens.window, 64.0);
  EXPECT_FALSE(read_head_tokens(file, Side::key).window);
}

TEST(HeadTokens, DoNotLookAtVectors) {
  const TemporaryFolder folder;
  const auto file = folder / "data.parquet";
  write_parquet(file, four_rows_with({"vector", array_of(pairs(), "[[0,NaN],[2],[4,5],[6,7]]")}));
  EXPECT_EQ(read_head_tokens(file, Side::query).position.size(), 4U);
  EXPECT_EQ(read_head_tokens(file, Side::query).width, 0U) << "7 components over 4 rows";
}

TEST(HeadTokens, ObeyTheRulesOfTheirColumns) {
  const TemporaryFolder folder;
  const auto file = folder / "data.parquet";
  write_parquet(file, four_rows_with({"bucket", array_of(arrow::int32(), "[0,null,1,1]")}));
  EXPECT_EQ(input_error(file, [&] { read_head_tokens(file, Side::query); }), "bucket is null in row 1" + correct_it());
}

}  // namespace
}  // namespace attention_plasticity
