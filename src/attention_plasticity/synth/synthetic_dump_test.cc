#include "attention_plasticity/synth/synthetic_dump.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/dump/capture_metadata.h"
#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/dump/layout.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/synth/axes.h"
#include "attention_plasticity/synth/dump_size.h"
#include "attention_plasticity/synth/generated_rows.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string bytes_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::map<std::string, std::string> files_of(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files[fs::relative(entry.path(), folder).string()] = bytes_of(entry.path());
  }
  return files;
}

class SyntheticDump : public testing::Test {
 protected:
  static SynthOptions small() {
    SynthOptions options;
    options.rows = 200;
    options.dim = 6;
    options.truth_pairs = 500;
    return options;
  }

  const TemporaryFolder temporary;
  const fs::path& folder = temporary.path();
};

TEST_F(SyntheticDump, HoldsTheFilesOfACapture) {
  write_synthetic_dump(folder / "new" / "dump", small());
  const auto files = files_of(folder / "new" / "dump");
  EXPECT_EQ(files.size(), 2U * (4U + 2U) + 3U);
  for (const char* name : {"_saver_state.json", "config.json", "truth.json", "l00h00q/data.parquet",
                           "l01h03q/data.parquet", "l01h01k/data.parquet"}) {
    EXPECT_TRUE(files.contains(name)) << name;
  }
  EXPECT_EQ(find_heads(folder / "new" / "dump", "").queries.size(), 8U);
}

TEST_F(SyntheticDump, ReadsBackAsTheRowsItWasMadeOf) {
  SynthOptions options = small();
  options.window = 300;
  write_synthetic_dump(folder, options);
  for (const Side side : {Side::query, Side::key}) {
    const HeadNumber head{1, 1};
    const HeadRows written = generate_rows(options, side, head);
    const HeadRows rows = read_head_file(folder / head_folder_name(side, head) / "data.parquet", side).rows;
    EXPECT_EQ(rows.bucket, written.bucket);
    EXPECT_EQ(rows.example, written.example);
    EXPECT_EQ(rows.position, written.position);
    EXPECT_EQ(rows.vectors, written.vectors);
    EXPECT_EQ(rows.window, side == Side::query ? std::optional(300.0) : std::nullopt);
  }
}

TEST_F(SyntheticDump, SaysHowItWasSampled) {
  SynthOptions options = small();
  options.bucket_size = 32;
  write_synthetic_dump(folder / "uniform", options);
  options.spacing = BucketSpacing::log;
  write_synthetic_dump(folder / "log", options);
  std::vector<std::string> notes;
  const auto uniform = read_capture_metadata(folder / "uniform", notes);
  EXPECT_EQ(uniform.model_name, "synthetic");
  EXPECT_EQ(uniform.sampling_strategy, "uniform");
  EXPECT_EQ(uniform.bucket_size, 32.0);
  const auto log = read_capture_metadata(folder / "log", notes);
  EXPECT_EQ(log.sampling_strategy, "log");
  EXPECT_EQ(log.bucket_size, 1.0);
  const auto shape = read_model_shape(folder / "log", notes);
  EXPECT_EQ(shape.num_layers, 2);
  EXPECT_EQ(shape.num_q_heads, 4);
  EXPECT_EQ(shape.num_k_heads, 2);
  EXPECT_TRUE(notes.empty());
}

TEST_F(SyntheticDump, DescribesItsModel) {
  SynthOptions options = small();
  write_synthetic_dump(folder / "plain", options);
  const json plain = json::parse(bytes_of(folder / "plain" / "config.json"));
  EXPECT_EQ(plain["head_dim"], 6);
  EXPECT_FALSE(plain.contains("rope_parameters"));
  EXPECT_EQ(plain["position_embedding_type"], json("nope"));
  EXPECT_FALSE(plain.contains("layer_types"));
  options.rope_theta = 5000;
  options.window = 64;
  options.sliding_layers = {1};
  write_synthetic_dump(folder / "rotated", options);
  const json rotated = json::parse(bytes_of(folder / "rotated" / "config.json"));
  EXPECT_EQ(rotated["rope_parameters"], (json{{"rope_theta", 5000.0}, {"rope_type", "default"}}));
  EXPECT_EQ(rotated["layer_types"], (json{"full_attention", "sliding_attention"}));
  EXPECT_EQ(rotated["sliding_window"], 64);
  EXPECT_EQ(rotated["rope_layout"], "half");
  EXPECT_FALSE(rotated.contains("rotary_dim"));
  EXPECT_FALSE(rotated.contains("rope_first"));
  options.rope_layout = RotaryLayout::interleaved;
  options.rope_dim = 2;
  options.rope_first = 4;
  write_synthetic_dump(folder / "part", options);
  const json part = json::parse(bytes_of(folder / "part" / "config.json"));
  EXPECT_EQ(part["rope_layout"], "interleaved");
  EXPECT_EQ(part["rotary_dim"], 2);
  EXPECT_EQ(part["rope_first"], 4);
}

TEST_F(SyntheticDump, HasTheSameBytesForTheSameSeedOnly) {
  SynthOptions options = small();
  options.layers = 1;
  write_synthetic_dump(folder / "a", options);
  write_synthetic_dump(folder / "b", options);
  EXPECT_EQ(files_of(folder / "a"), files_of(folder / "b"));
  options.seed = 1;
  write_synthetic_dump(folder / "c", options);
  for (const auto& [name, bytes] : files_of(folder / "c")) {
    const bool of_shape = name == "config.json" || name == "_saver_state.json";
    EXPECT_EQ(bytes == bytes_of(folder / "a" / name), of_shape) << name;
  }
}

TEST_F(SyntheticDump, HeadsDoNotDependOnOtherHeads) {
  SynthOptions options = small();
  options.layers = 1;
  options.q_heads = options.k_heads = 1;
  write_synthetic_dump(folder / "one", options);
  options.layers = 3;
  options.q_heads = 6;
  options.k_heads = 3;
  write_synthetic_dump(folder / "many", options);
  for (const char* name : {"l00h00q/data.parquet", "l00h00k/data.parquet"}) {
    EXPECT_EQ(bytes_of(folder / "one" / name), bytes_of(folder / "many" / name)) << name;
  }
  const json one = json::parse(bytes_of(folder / "one" / "truth.json"));
  const json many = json::parse(bytes_of(folder / "many" / "truth.json"));
  EXPECT_EQ(one["heads"][0], many["heads"][0]);
}

TEST_F(SyntheticDump, ReportsEveryHeadFileAndEveryTruth) {
  std::vector<std::size_t> files;
  std::vector<std::size_t> truths;
  const auto into = [](std::vector<std::size_t>& seen, std::size_t expected_total) {
    return [&seen, expected_total](std::size_t done, std::size_t total) {
      EXPECT_EQ(total, expected_total);
      seen.push_back(done);
    };
  };
  write_synthetic_dump(folder, small(), {.file = into(files, 12), .truth = into(truths, 8)});
  EXPECT_EQ(files, (std::vector<std::size_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(truths, (std::vector<std::size_t>{1, 2, 3, 4, 5, 6, 7, 8}));
}

std::uint64_t bytes_below(const fs::path& root) {
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

TEST_F(SyntheticDump, TakesAboutAsMuchDiskAsEstimated) {
  const auto expect_near = [&](const std::string& name, const SynthOptions& options) {
    write_synthetic_dump(folder / name, options);
    const auto bytes = static_cast<double>(bytes_below(folder / name));
    EXPECT_NEAR(static_cast<double>(estimated_dump_bytes(options)), bytes, 0.15 * bytes) << name;
  };
  SynthOptions options;
  options.layers = 1;
  options.truth_pairs = 0;
  expect_near("usual", options);
  options.bfloat16 = true;
  options.rope_theta = 10000;
  options.tails = Tails::heavy;
  options.rows = 20000;
  expect_near("bfloat16", options);
  options.bfloat16 = false;
  options.dim = 100;
  options.spacing = BucketSpacing::log;
  expect_near("wide", options);
  options.truth_pairs = 1;
  options.rows = 100;
  options.dim = 8;
  expect_near("small", options);
}

TEST_F(SyntheticDump, NeedsTheDiskToHaveSpace) {
  SynthOptions options;
  options.layers = 1000;
  options.rows = std::size_t{1} << 31;
  options.dim = 4096;
  try {
    write_synthetic_dump(folder / "huge", options);
    FAIL() << "it was written";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::output);
    EXPECT_TRUE(std::string_view(error.what()).starts_with("the dump needs about ")) << error.what();
    EXPECT_NE(std::string_view(error.what()).find(" are free; name a folder on another disk"), std::string_view::npos);
  }
  EXPECT_FALSE(fs::exists(folder / "huge"));
}

TEST_F(SyntheticDump, RefusesFoldersThatHoldSomething) {
  const auto kind_of_failure = [](const fs::path& out, const SynthOptions& options) {
    try {
      write_synthetic_dump(out, options);
    } catch (const Error& error) {
      return std::pair(error.kind(), error.file());
    }
    return std::pair(ErrorKind::input, std::string("no failure"));
  };
  std::ofstream(folder / "mine.txt") << "mine";
  EXPECT_EQ(kind_of_failure(folder, small()), std::pair(ErrorKind::output, folder.string()));
  EXPECT_EQ(kind_of_failure(folder / "mine.txt", small()),
            std::pair(ErrorKind::output, (folder / "mine.txt").string()));
  EXPECT_EQ(files_of(folder), (std::map<std::string, std::string>{{"mine.txt", "mine"}}));
  SynthOptions wrong = small();
  wrong.rows = 0;
  EXPECT_EQ(kind_of_failure(folder / "other", wrong).first, ErrorKind::usage);
  EXPECT_FALSE(fs::exists(folder / "other"));
}

TEST_F(SyntheticDump, TruthHoldsAnEntryForEachHead) {
  SynthOptions options = small();
  options.window = 300;
  options.sliding_layers = {1};
  write_synthetic_dump(folder, options);
  const json truth = json::parse(bytes_of(folder / "truth.json"));
  EXPECT_EQ(truth["schema"], 1);
  EXPECT_EQ(truth["options"]["window"], 300);
  EXPECT_EQ(truth["options"]["rope_theta"], nullptr);
  ASSERT_EQ(truth["heads"].size(), 8U);
  const json& last = truth["heads"][7];
  EXPECT_EQ(last["layer"], 1);
  EXPECT_EQ(last["q_head"], 3);
  EXPECT_EQ(last["k_head"], 1);
  EXPECT_EQ(last["window"], 300);
  EXPECT_EQ(truth["heads"][0]["window"], nullptr);
  EXPECT_EQ(last["by_bucket"].size(), 29U);
  EXPECT_GT(last["plasticity"]["value"], 0);
  EXPECT_LT(last["plasticity"]["value"], 1);
  EXPECT_GE(last["plasticity"]["pairs"], 500);
}

TEST_F(SyntheticDump, TruthOfNoPairsIsNull) {
  SynthOptions options = small();
  options.truth_pairs = 0;
  write_synthetic_dump(folder, options);
  const json head = json::parse(bytes_of(folder / "truth.json"))["heads"][0];
  EXPECT_EQ(head["plasticity"], (json{{"value", nullptr}, {"error", nullptr}, {"pairs", 0}}));
  EXPECT_EQ(head["choice"], (json{{"value", nullptr}, {"error", nullptr}}));
  EXPECT_TRUE(head["by_bucket"].empty());
}

// Rebuilds sum_i eigenvalue_i axis_i axis_i' from the fields of truth.json.
Matrix rebuilt_covariance(const json& covariance) {
  const std::vector<double> eigenvalues = covariance["eigenvalues"];
  const std::array<std::uint32_t, 4> words = covariance["axes_seed"];
  GeneratorSeed seed = 0;
  for (std::size_t i = words.size(); i-- > 0;) seed = seed << 32 | words[i];
  NumpyGenerator generator(seed);
  const std::size_t dim = eigenvalues.size();
  const Matrix axes = random_axes(dim, generator);
  Matrix rebuilt(dim, dim);
  for (std::size_t i = 0; i < dim; ++i) {
    for (std::size_t a = 0; a < dim; ++a) {
      for (std::size_t b = 0; b < dim; ++b) rebuilt.row(a)[b] += eigenvalues[i] * axes.row(i)[a] * axes.row(i)[b];
    }
  }
  return rebuilt;
}

TEST_F(SyntheticDump, TruthHoldsTheMatrixThatItsSeedGives) {
  SynthOptions options = small();
  write_synthetic_dump(folder / "narrow", options);
  const json head = json::parse(bytes_of(folder / "narrow" / "truth.json"))["heads"][3];
  for (const char* name : {"covariance", "key_covariance"}) {
    const Matrix rebuilt = rebuilt_covariance(head[name]);
    ASSERT_EQ(head[name]["matrix"].size(), options.dim);
    for (std::size_t a = 0; a < options.dim; ++a) {
      for (std::size_t b = 0; b < options.dim; ++b) {
        EXPECT_NEAR(head[name]["matrix"][a][b].get<double>(), rebuilt.row(a)[b], 1e-12);
      }
    }
  }
  options.dim = 65;
  write_synthetic_dump(folder / "wide", options);
  EXPECT_FALSE(json::parse(bytes_of(folder / "wide" / "truth.json"))["heads"][0]["covariance"].contains("matrix"));
}

// The largest difference, in standard errors, between the line and covariance of the rows and the given ones.
double worst_z(const HeadRows& rows, const std::vector<double>& mean, const std::vector<double>& slope,
               const Matrix& covariance) {
  const std::size_t dim = rows.width;
  const auto n = static_cast<double>(rows.size());
  double centre = 0;
  double spread = 0;
  for (const double t : rows.position) centre += t / n;
  for (const double t : rows.position) spread += (t - centre) * (t - centre);
  std::vector<double> level(dim);
  std::vector<double> trend(dim);
  Matrix products(dim, dim);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<double> residual(dim);
    for (std::size_t a = 0; a < dim; ++a) {
      residual[a] = rows.row(i)[a] - mean[a] - slope[a] * rows.position[i];
      level[a] += residual[a] / n;
      trend[a] += residual[a] * (rows.position[i] - centre) / spread;
    }
    for (std::size_t a = 0; a < dim; ++a) {
      for (std::size_t b = 0; b < dim; ++b) products.row(a)[b] += residual[a] * residual[b] / n;
    }
  }
  double worst = 0;
  for (std::size_t a = 0; a < dim; ++a) {
    const double variance = covariance.row(a)[a];
    worst = std::max(worst, std::abs(level[a]) / std::sqrt(variance / n));
    worst = std::max(worst, std::abs(trend[a]) / std::sqrt(variance / spread));
    for (std::size_t b = 0; b <= a; ++b) {
      const double expected = covariance.row(a)[b];
      const double error = std::sqrt((variance * covariance.row(b)[b] + expected * expected) / n);
      worst = std::max(worst, std::abs(products.row(a)[b] - expected) / error);
    }
  }
  return worst;
}

TEST_F(SyntheticDump, RowsHaveTheMeanSlopeAndCovarianceOfTheTruth) {
  SynthOptions options = small();
  options.layers = 1;
  options.q_heads = 2;
  options.k_heads = 1;
  options.rows = 30000;
  options.dim = 9;
  options.spectrum = 1.2;
  options.slope = 3;
  options.truth_pairs = 0;
  write_synthetic_dump(folder, options);
  const json truth = json::parse(bytes_of(folder / "truth.json"));
  for (const json& head : truth["heads"]) {
    const HeadNumber key{0, head["q_head"]};
    const HeadRows queries =
        read_head_file(folder / head_folder_name(Side::query, key) / "data.parquet", Side::query).rows;
    EXPECT_LT(worst_z(queries, head["mean"], head["slope"], rebuilt_covariance(head["covariance"])), 4);
    const HeadRows keys = read_head_file(folder / "l00h00k" / "data.parquet", Side::key).rows;
    const std::vector<double> none(options.dim);
    EXPECT_LT(worst_z(keys, none, none, rebuilt_covariance(head["key_covariance"])), 4);
  }
  // The sizes are root mean squares over the components.
  const std::vector<double> slope = truth["heads"][0]["slope"];
  double square = 0;
  for (const double component : slope) square += component * component;
  EXPECT_NEAR(std::sqrt(square / 9) * 16 * 128, 3, 1e-12);
}

}  // namespace
}  // namespace attention_plasticity
