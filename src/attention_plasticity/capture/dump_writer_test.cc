#include "attention_plasticity/capture/dump_writer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>

#include "attention_plasticity/base/refusal_testing.h"
#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/capture/captured_rows.h"
#include "attention_plasticity/capture/small_capture_testing.h"
#include "attention_plasticity/dump/capture_metadata.h"
#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

using Files = std::map<std::string, std::string>;

Files files_in(const fs::path& folder) {
  Files files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      files[entry.path().lexically_relative(folder).string()] = read_file_bytes(entry.path());
    }
  }
  return files;
}

// The Error that `act` throws: "output: message".
template <class Act>
std::string failure(Act&& act) {
  try {
    act();
  } catch (const Error& error) {
    const bool is_output = error.kind() == ErrorKind::output;
    return is_output ? std::string("output: ") + error.what() : refusal([&] { throw error; });
  }
  return "nothing";
}

class DumpWriterTest : public ::testing::Test {
 protected:
  DumpWriter open(const std::string& texts = "texts") const { return {dump(), settings_, model_, texts}; }
  std::string open_failure(const std::string& texts = "texts") const {
    return failure([&] { open(texts); });
  }
  void add(DumpWriter& writer, std::uint64_t document) const { add_document(writer, settings_, model_, document); }
  // A whole capture of these documents.
  void capture(std::uint64_t documents, const std::map<std::string, std::string>& files = {}) const {
    DumpWriter writer = open();
    for (std::uint64_t document = 0; document < documents; ++document) add(writer, document);
    const fs::path written = writer.finish(files);
    EXPECT_EQ(written, fs::canonical(dump()));
  }
  fs::path dump() const { return here_ / "dump"; }
  fs::path hidden() const { return here_ / ".dump.attention-plasticity-capture"; }

  TemporaryFolder here_;
  CaptureSettings settings_ = small_settings();
  CapturedModel model_ = small_model();
};

TEST_F(DumpWriterTest, FilesHoldTheVectorsOfTheSampledPositions) {
  capture(5);
  const DumpLayout layout = find_heads(dump(), "");
  EXPECT_EQ(layout.queries.size(), 8U);
  EXPECT_EQ(layout.keys.size(), 4U);
  EXPECT_TRUE(layout.warnings.empty());
  for (const Side side : {Side::query, Side::key}) {
    for (const HeadNumber head : side == Side::query ? layout.queries : layout.keys) {
      const HeadRows rows = read_head_file(layout.file(side, head), side).rows;
      EXPECT_TRUE(has_page_checksums(layout.file(side, head)));
      const std::optional<double> window = head.layer == 1 ? std::optional(96.0) : std::nullopt;
      EXPECT_EQ(rows.window, side == Side::query ? window : std::nullopt) << "of keys it is not read";
      std::size_t row = 0;
      for (std::uint64_t document = 0; document < 5; ++document) {
        const SampledPositions sampled =
            sampled_positions(settings_, small_length(document), document, head.layer, side);
        for (std::size_t i = 0; i < sampled.positions.size(); ++i, ++row) {
          ASSERT_LT(row, rows.size());
          EXPECT_EQ(rows.example[row], document);
          EXPECT_EQ(rows.position[row], static_cast<double>(sampled.positions[i]));
          EXPECT_EQ(rows.bucket[row], sampled.buckets[i]);
          for (std::size_t c = 0; c < 8; ++c) {
            EXPECT_EQ(rows.row(row)[c], small_value(document, head.layer, side, head.head, sampled.positions[i], c));
          }
        }
      }
      EXPECT_EQ(row, rows.size());
    }
  }
}

TEST_F(DumpWriterTest, SideFilesSayHowItWasSampled) {
  capture(3, {{"head_labels.csv", "layer,q_head,x\n0,0,1\n"}});
  std::vector<std::string> notes;
  const CaptureMetadata metadata = read_capture_metadata(dump(), notes);
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(metadata.model_name, "small");
  EXPECT_EQ(metadata.sampling_strategy, "uniform");
  EXPECT_EQ(metadata.bucket_size, 32);
  EXPECT_EQ(read_file_bytes(dump() / "config.json"), model_.config);
  EXPECT_EQ(read_file_bytes(dump() / "head_labels.csv"), "layer,q_head,x\n0,0,1\n");
  EXPECT_FALSE(fs::exists(hidden()));
  settings_.sampling = Sampling::log_uniform;
  settings_.bucket_size = 20;
  settings_.overwrite = true;
  capture(3);
  EXPECT_EQ(read_capture_metadata(dump(), notes).sampling_strategy, "log");
  EXPECT_EQ(read_capture_metadata(dump(), notes).bucket_size, 32);
  settings_.sampling = Sampling::all;
  capture(3);
  EXPECT_EQ(read_capture_metadata(dump(), notes).sampling_strategy, "all");
  EXPECT_EQ(read_capture_metadata(dump(), notes).bucket_size, 20);
}

TEST_F(DumpWriterTest, OrderAndInterruptionsLeaveTheSameBytes) {
  capture(6);
  const Files whole = files_in(dump());
  fs::remove_all(dump());
  {
    DumpWriter writer = open();
    add(writer, 4);
    add(writer, 1);
    // Two documents at once, one of which does not end.
    add_layers(writer, settings_, model_, 5, small_length(5));
    add_layers(writer, settings_, model_, 0, small_length(0));
    writer.end_document(0);
    EXPECT_FALSE(fs::exists(dump()));
  }
  {
    DumpWriter writer = open();
    EXPECT_EQ(writer.finished(), (std::vector<std::uint64_t>{0, 1, 4}));
    add(writer, 5);
  }
  DumpWriter writer = open();
  for (const std::uint64_t document : {3U, 2U}) add(writer, document);
  writer.finish();
  EXPECT_EQ(files_in(dump()), whole);
  EXPECT_FALSE(fs::exists(hidden()));
}

TEST_F(DumpWriterTest, ACompleteDumpIsNotCapturedAgain) {
  capture(3);
  const Files whole = files_in(dump());
  fs::create_directories(hidden());  // as after an end between the rename and the removal
  std::ofstream(hidden() / "spool") << "x";
  DumpWriter writer = open();
  EXPECT_TRUE(writer.is_complete());
  EXPECT_FALSE(fs::exists(hidden()));
  EXPECT_EQ(writer.finish({{"head_labels.csv", "late"}}), fs::canonical(dump()));
  Files with_labels = whole;
  with_labels["head_labels.csv"] = "late";
  EXPECT_EQ(files_in(dump()), with_labels);
  EXPECT_EQ(failure([&] { writer.begin_document(9, 100); }).substr(0, 7), "usage: ");
}

TEST_F(DumpWriterTest, AnotherCaptureIsRefusedUnlessOverwritten) {
  {
    DumpWriter writer = open();
    add(writer, 0);
  }
  settings_.bucket_size = 64;
  EXPECT_EQ(open_failure("others"),
            "output: an unfinished capture of something else waits here (`bucket_size` 32 there and 64 here, other "
            "texts); repeat its command to go on, or pass `overwrite` to begin anew");
  model_.config += " ";
  settings_.bucket_size = 32;
  EXPECT_EQ(open_failure(),
            "output: an unfinished capture of something else waits here (another model); repeat its command to go on, "
            "or pass `overwrite` to begin anew");
  model_.config.pop_back();
  model_.weights = "other";
  EXPECT_EQ(
      open_failure(),
      "output: an unfinished capture of something else waits here (other weights of the model); repeat its command "
      "to go on, or pass `overwrite` to begin anew");
  settings_.overwrite = true;
  {
    DumpWriter writer = open();
    EXPECT_TRUE(writer.finished().empty());
    for (const std::uint64_t document : {0U, 1U}) add(writer, document);
    writer.finish();
  }
  const Files first = files_in(dump());
  settings_.overwrite = false;
  EXPECT_EQ(open_failure("others"),
            "output: the folder holds a dump already (other texts); name a new folder, or pass `overwrite` to replace "
            "it");
  settings_.overwrite = true;
  settings_.seed = 5;
  DumpWriter writer = open();
  for (const std::uint64_t document : {0U, 1U}) add(writer, document);
  EXPECT_EQ(files_in(dump()), first) << "the old dump stays until the new one is whole";
  writer.finish();
  EXPECT_NE(files_in(dump()), first);
  EXPECT_FALSE(fs::exists(hidden()));
}

TEST_F(DumpWriterTest, OtherFilesAreNeverReplaced) {
  fs::create_directories(dump());
  capture(2);  // an empty folder is taken
  settings_.overwrite = true;
  std::ofstream(dump() / "thesis.tex") << "x";
  EXPECT_EQ(open_failure(), "output: the folder holds 'thesis.tex', which is no part of a dump; name a new folder");
  fs::remove_all(dump());
  std::ofstream(dump()) << "x";
  EXPECT_EQ(open_failure(), "output: there is a file of this name; name a folder for the dump");
  EXPECT_FALSE(fs::exists(hidden()));
}

TEST_F(DumpWriterTest, OneWriterHasAFolder) {
  const DumpWriter writer = open();
  EXPECT_EQ(open_failure(), "output: another run is writing here; wait until it has ended, or choose another `output`");
}

TEST_F(DumpWriterTest, ADiscardedCaptureLeavesNothing) {
  DumpWriter writer = open();
  add(writer, 0);
  writer.discard();
  EXPECT_FALSE(fs::exists(hidden()));
  EXPECT_EQ(failure([&] { writer.finish(); }),
            "usage: " + fs::canonical(here_.path()).string() + "/dump: the capture has ended");
  EXPECT_TRUE(open().finished().empty());
}

TEST_F(DumpWriterTest, RefusesWhatWasNotAskedFor) {
  settings_.max_length = 200;
  DumpWriter writer = open();
  EXPECT_EQ(failure([&] { writer.begin_document(0, 0); }), "input: document 0 is empty");
  EXPECT_EQ(failure([&] { writer.begin_document(0, 201); }),
            "usage: document 0 has 201 tokens, more than `max_length: 200`");
  EXPECT_EQ(failure([&] { writer.begin_document(std::uint64_t{1} << 31U, 5); }),
            "usage: documents and positions must be below 2147483648");
  EXPECT_EQ(failure([&] { writer.positions(0, 0); }), "usage: document 0 is not open");
  writer.begin_document(0, 100);
  EXPECT_EQ(failure([&] { writer.begin_document(0, 100); }), "usage: document 0 is open already");
  EXPECT_EQ(failure([&] { writer.heads(3); }), "usage: there is no layer 3: the model has 3, from 0 on");
  const LayerPositions positions = writer.positions(0, 0);
  EXPECT_TRUE(writer.positions(0, 2).queries.positions.empty());
  const SmallTensor queries(0, 0, Side::query, {0, 1, 2, 3}, positions.queries.positions, 8);
  SmallTensor keys(0, 0, Side::key, {0, 1}, positions.keys.positions, 8);
  EXPECT_EQ(failure([&] { writer.add(0, 2, queries.view(), keys.view()); }), "usage: layer 2 is not captured");
  const std::string q = shape_text(queries.view());
  EXPECT_EQ(failure([&] { writer.add(0, 0, queries.view(), queries.view()); }),
            "usage: the keys of layer 0 of document 0 are " + q + "; they should be " + shape_text(keys.view()) +
                ": heads, sampled positions, components");
  TensorView other = keys.view();
  other.type = ElementType::float16;
  EXPECT_EQ(failure([&] { writer.add(0, 0, queries.view(), other); }),
            "usage: the queries and keys of layer 0 of document 0 are not of one type");
  keys.values()[3] = 0x7F80;
  EXPECT_EQ(failure([&] { writer.add(0, 0, queries.view(), keys.view()); }),
            "input: layer 0: the keys hold a number that is not finite; float16 may be too narrow for the model: load "
            "it in bfloat16 or float32, or capture a GGUF file with `exact`");
  keys.values()[3] = 0;
  writer.add(0, 0, queries.view(), keys.view());
  EXPECT_EQ(failure([&] { writer.add(0, 0, queries.view(), keys.view()); }),
            "usage: layer 0 of document 0 was added already");
  EXPECT_EQ(failure([&] { writer.end_document(0); }),
            "usage: document 0 ends without layer 1: the model's attention was not seen there");
  EXPECT_EQ(failure([&] { writer.finish(); }), "input: no document was captured");
  EXPECT_EQ(failure([&] { writer.finish({{"config.json", ""}}); }),
            "usage: a dump cannot have an additional file 'config.json'");
  EXPECT_EQ(failure([&] { writer.finish({{"a/b", ""}}); }), "usage: a dump cannot have an additional file 'a/b'");
  add(writer, 1);
  EXPECT_EQ(failure([&] { writer.begin_document(1, 100); }), "usage: document 1 was captured already");
  EXPECT_FALSE(fs::exists(dump()));
}

TEST_F(DumpWriterTest, TextsShorterThanABucketAreRefused) {
  DumpWriter writer = open();
  add_layers(writer, settings_, model_, 0, 32);
  writer.end_document(0);
  EXPECT_EQ(failure([&] { writer.finish(); }),
            "input: no text reaches beyond the first bucket of 32 tokens: the longest has 32; choose longer texts or a "
            "smaller `bucket_size`");
  EXPECT_FALSE(fs::exists(dump()));
}

TEST_F(DumpWriterTest, ChosenHeadsAreWrittenAlone) {
  settings_.layers = {1};
  settings_.heads = {2};
  capture(4);
  const DumpLayout layout = find_heads(dump(), "");
  EXPECT_EQ(layout.queries, (std::set<HeadNumber>{{1, 2}}));
  EXPECT_EQ(layout.keys, (std::set<HeadNumber>{{1, 1}}));
}

// 1,200 files, and a process that may open 24.
TEST_F(DumpWriterTest, ManyHeadsNeedFewOpenFiles) {
  model_.config.clear();
  model_.layers.assign(10, {80, 40, 2, std::nullopt});
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
  const rlimit few{24, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const std::string failed = failure([&] { capture(2); });
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &old), 0);
  EXPECT_EQ(failed, "nothing");
  EXPECT_EQ(find_heads(dump(), "").queries.size(), 800U);
}

TEST_F(DumpWriterTest, LongFilesHaveSeveralRowGroups) {
  settings_.sampling = Sampling::all;
  model_.layers = {{1, 1, 4096, std::nullopt}};
  DumpWriter writer = open();
  add_layers(writer, settings_, model_, 0, 300);
  writer.end_document(0);
  add_layers(writer, settings_, model_, 1, 300);
  writer.end_document(1);
  writer.finish();
  // 128 vectors of 4,096 components are 2 MiB.
  const HeadRows rows = read_head_file(dump() / "l00h00q" / "data.parquet", Side::query).rows;
  ASSERT_EQ(rows.size(), 600U);
  EXPECT_EQ(rows.row(299)[7], small_value(0, 0, Side::query, 0, 299, 7));
  EXPECT_EQ(rows.row(599)[4095], small_value(1, 0, Side::query, 0, 299, 4095));
}

TEST_F(DumpWriterTest, RowsInMemoryAreThoseOfTheFiles) {
  capture(5);
  CapturedRows rows(settings_, model_);
  for (const std::uint64_t document : {3U, 0U, 4U, 1U, 2U}) add_document(rows, settings_, model_, document);
  const std::vector<std::shared_ptr<const LayerRows>> layers = rows.take();
  ASSERT_EQ(layers.size(), 4U);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Side side = i % 2 == 0 ? Side::query : Side::key;
    for (std::size_t head = 0; head < layers[i]->heads.size(); ++head) {
      const HeadNumber key{layers[i]->layer, layers[i]->heads[head]};
      const HeadRows file = read_head_file(dump() / head_folder_name(side, key) / "data.parquet", side).rows;
      const RowsView view = layers[i]->view(head);
      EXPECT_TRUE(std::ranges::equal(view.vectors, file.vectors));
      EXPECT_TRUE(std::ranges::equal(view.position, file.position));
      EXPECT_TRUE(std::ranges::equal(view.bucket, file.bucket));
      EXPECT_TRUE(std::ranges::equal(view.example, file.example));
      EXPECT_EQ(side == Side::query ? view.window : std::nullopt, file.window);
    }
  }
  EXPECT_EQ(failure([&] { rows.take(); }), "input: no document was captured");
  EXPECT_EQ(failure([&] {
              CapturedRows again(settings_, model_);
              add_document(again, settings_, model_, 0);
              again.begin_document(0, 5);
            }),
            "usage: document 0 was captured already");
}

}  // namespace
}  // namespace attention_plasticity
