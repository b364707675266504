#include "attention_plasticity/dump/capture_metadata.h"

#include <gtest/gtest.h>

#include "attention_plasticity/dump/odd_parquet_testing.h"
#include "places.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

fs::path example(const std::string& dump) { return source_folder() / "examples" / dump; }

struct ReadMetadata {
  CaptureMetadata metadata;
  std::vector<std::string> notes;
};

ReadMetadata metadata_of(const std::string& json) {
  const TemporaryFolder folder;
  write_bytes(folder / "_saver_state.json", json);
  ReadMetadata read;
  read.metadata = read_capture_metadata(folder.path(), read.notes);
  for (std::string& note : read.notes) note.erase(0, folder.path().string().size() + 1);
  return read;
}

struct ReadShape {
  ModelShape shape;
  std::vector<std::string> notes;
};

ReadShape shape_of(const std::string& json) {
  const TemporaryFolder folder;
  write_bytes(folder / "config.json", json);
  ReadShape read;
  read.shape = read_model_shape(folder.path(), read.notes);
  for (std::string& note : read.notes) note.erase(0, folder.path().string().size() + 1);
  return read;
}

TEST(CaptureMetadata, ReadsTheExampleDumps) {
  std::vector<std::string> notes;
  const CaptureMetadata metadata = read_capture_metadata(example("smollm2-135m"), notes);
  EXPECT_EQ(metadata.model_name, "SmolLM2-135M-Instruct");
  EXPECT_EQ(metadata.sampling_strategy, "uniform");
  EXPECT_EQ(metadata.bucket_size, 128.0);
  EXPECT_EQ(read_capture_metadata(example("minidoc-qwen3"), notes).bucket_size, 256.0);
  const ModelShape shape = read_model_shape(example("smollm2-135m"), notes);
  EXPECT_EQ(shape.num_layers, 30);
  EXPECT_EQ(shape.num_q_heads, 9);
  EXPECT_EQ(shape.num_k_heads, 3);
  EXPECT_TRUE(notes.empty());
}

TEST(CaptureMetadata, TakesTheSmallestBucketOfLogSampling) {
  const auto read = metadata_of(
      R"({"model_metadata": {"sampling_strategy": "log", "sampling_bucket_size": 7, "sampling_min_bucket_size": 4}})");
  EXPECT_EQ(read.metadata.sampling_strategy, "log");
  EXPECT_EQ(read.metadata.bucket_size, 4.0);
  EXPECT_FALSE(read.metadata.model_name);
  EXPECT_TRUE(read.notes.empty());
}

TEST(CaptureMetadata, IsEmptyWithoutANoteWhereThereIsNoFile) {
  const TemporaryFolder folder;
  std::vector<std::string> notes;
  const CaptureMetadata metadata = read_capture_metadata(folder.path(), notes);
  EXPECT_FALSE(metadata.model_name || metadata.sampling_strategy || metadata.bucket_size);
  EXPECT_FALSE(read_model_shape(folder.path(), notes).num_layers);
  EXPECT_TRUE(notes.empty());
}

TEST(CaptureMetadata, IgnoresWhatIsNoJsonWithANote) {
  using Notes = std::vector<std::string>;
  EXPECT_EQ(metadata_of("{\"model_name\": ").notes, Notes{"_saver_state.json: line 1: is not valid JSON: ignored"});
  EXPECT_EQ(metadata_of("").notes, Notes{"_saver_state.json: line 1: is not valid JSON: ignored"});
  EXPECT_EQ(metadata_of("{\"a\": \"\xff\"}").notes, Notes{"_saver_state.json: line 1: is not valid JSON: ignored"});
  EXPECT_EQ(metadata_of("[1]").notes, Notes{"_saver_state.json: is a list of 1; a JSON object is expected: ignored"});
  EXPECT_EQ(metadata_of(R"({"model_metadata": 3})").notes,
            Notes{"_saver_state.json: model_metadata is not a JSON object: ignored"});
  const TemporaryFolder folder;
  fs::create_directory(folder / "config.json");
  Notes notes;
  EXPECT_FALSE(read_model_shape(folder.path(), notes).num_layers);
  EXPECT_EQ(notes, Notes{(folder / "config.json").string() + ": is not a file that can be read: ignored"});
}

TEST(CaptureMetadata, IgnoresSingleFieldsThatMakeNoSense) {
  const auto read =
      metadata_of(R"({"model_name": 3, "model_metadata": {"sampling_strategy": "odd", "sampling_bucket_size": 0}})");
  EXPECT_FALSE(read.metadata.model_name || read.metadata.sampling_strategy || read.metadata.bucket_size);
  EXPECT_EQ(read.notes,
            (std::vector<std::string>{"_saver_state.json: model_name is not text: ignored",
                                      "_saver_state.json: sampling_strategy is not uniform, log or all: ignored",
                                      "_saver_state.json: sampling_bucket_size is not a number above 0: ignored"}));
  EXPECT_TRUE(metadata_of(R"({"model_name": null, "model_metadata": null})").notes.empty());
}

TEST(ModelShape, LooksInTextConfigOfMultimodalModels) {
  const auto read = shape_of(
      R"({"num_hidden_layers": 5, "text_config": {"num_hidden_layers": 9, "num_attention_heads": 8,
          "num_key_value_heads": 4}})");
  EXPECT_EQ(read.shape.num_layers, 5);
  EXPECT_EQ(read.shape.num_q_heads, 8);
  EXPECT_EQ(read.shape.num_k_heads, 4);
  EXPECT_TRUE(read.notes.empty());
}

TEST(ModelShape, StatesTheWidthOnlyWhereTheFileDoes) {
  EXPECT_EQ(shape_of(R"({"head_dim": 64, "hidden_size": 384})").shape.width, 64);
  EXPECT_EQ(shape_of(R"({"text_config": {"head_dim": 32}})").shape.width, 32);
  EXPECT_FALSE(shape_of(R"({"hidden_size": 384, "num_attention_heads": 6})").shape.width);
  // Latent attention: head_dim is the width of the rotated part.
  EXPECT_EQ(shape_of(R"({"head_dim": 64, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64})").shape.width, 192);
  EXPECT_FALSE(shape_of(R"({"head_dim": 64, "qk_nope_head_dim": 128})").shape.width);
  EXPECT_FALSE(shape_of(R"({"head_dim": 256, "global_head_dim": 512})").shape.width);
}

TEST(ModelShape, IgnoresCountsThatAreNone) {
  for (const char* count : {"0", "-1", "2.5", "\"4\"", "4294967296", "18446744073709551615", "1e300"}) {
    const auto read = shape_of(std::string(R"({"num_hidden_layers": )") + count + "}");
    EXPECT_FALSE(read.shape.num_layers) << count;
    EXPECT_EQ(read.notes,
              std::vector<std::string>{"config.json: num_hidden_layers is not a whole number of at least 1: ignored"});
  }
}

}  // namespace
}  // namespace attention_plasticity
