// A model's rotation held against the vectors of whole dumps: what the program says when they contradict it.

#include <cmath>
#include <nlohmann/json.hpp>

#include "attention_plasticity/base/text_testing.h"
#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/dump/head_file_writer.h"
#include "attention_plasticity/rotation/candidates.h"
#include "places.h"
#include "program_support.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

// The embedded dumps.
struct Embedded {
  std::string name;
  std::string theta;
  std::vector<std::string> sizes;
};

const std::vector<Embedded>& embedded_dumps() {
  static const std::vector<Embedded> dumps{
      {"smollm2-135m", "100000", {"--num_layers", "30", "--num_q_heads", "9", "--num_k_heads", "3"}},
      {"minidoc-qwen3", "10000", {"--num_layers", "10", "--num_q_heads", "6", "--num_k_heads", "2"}}};
  return dumps;
}

fs::path embedded(const Embedded& dump) { return source_folder() / "examples" / dump.name; }

using Change = std::function<void(HeadRows&)>;

class RotationAgainstVectors : public ProgramTest {
 protected:
  // Quick: the check of the rotation does not depend on these.
  Outcome quick(const fs::path& dump, const std::vector<std::string>& flags) const {
    std::vector<std::string> all{"--num_triples",        "4", "--no-standard_errors",
                                 "--normality_max_dims", "0", "--overwrite"};
    all.insert(all.end(), flags.begin(), flags.end());
    return run(analyze_words(dump, all));
  }

  // A copy of a dump, with its rows changed.
  fs::path copy_of(const fs::path& dump, const Change& change, bool with_config) const {
    const fs::path copy = here_ / "copy";
    fs::remove_all(copy);
    for (const auto& entry : fs::directory_iterator(dump)) {
      const std::string name = entry.path().filename().string();
      if (entry.is_regular_file()) {
        fs::create_directories(copy);
        if (with_config || name != "config.json") fs::copy(entry.path(), copy / name);
        continue;
      }
      const Side side = name.ends_with('q') ? Side::query : Side::key;
      HeadRows rows = read_head_file(entry.path() / "data.parquet", side).rows;
      change(rows);
      write_head_file(copy / name / "data.parquet", rows);
    }
    return copy;
  }

  // Rotates all rows as another candidate does.
  static Change rerotated(const RotationCandidate& from, const RotationCandidate& to) {
    return [from, to](HeadRows& rows) {
      const Rotation back = from.rotation(rows.width).value_or(Rotation{});
      const Rotation forth = to.rotation(rows.width).value_or(Rotation{});
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::span<float> row(rows.vectors.data() + i * rows.width, rows.width);
        back.rotate(row, -rows.position[i]);
        forth.rotate(row, rows.position[i]);
      }
    };
  }

  fs::path synthetic(const std::vector<std::string>& flags) const {
    fs::remove_all(here_ / "synthetic");
    std::vector<std::string> words{"synth", "synthetic", "--truth_pairs", "0", "--quiet"};
    words.insert(words.end(), flags.begin(), flags.end());
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return here_ / "synthetic";
  }

  nlohmann::json run_json() const { return nlohmann::json::parse(read_bytes(here_ / "run.json")); }
};

TEST_F(RotationAgainstVectors, EveryWrongSettingIsNamedEvenUnderQuiet) {
  for (const Embedded& dump : embedded_dumps()) {
    const std::string theta = "--rope_theta " + dump.theta;
    struct Wrong {
      std::vector<std::string> flags;
      std::vector<std::string> parts;
    };
    for (const Wrong& wrong :
         {Wrong{{"--vectors", "pre"}, {"pass --vectors post"}},
          Wrong{{"--rope_theta", "500000"}, {"theta 500000, half, all 64 components", "pass " + theta}},
          Wrong{{"--rope_layout", "interleaved", "--rope_theta", "10000"},
                {"theta 10000, interleaved, all 64 components", "pass " + theta + ", --rope_layout half"}},
          Wrong{{"--rope", "none"}, {"pass " + theta, "in place of --rope none"}}}) {
      std::vector<std::string> flags = wrong.flags;
      flags.emplace_back("--quiet");
      const Outcome outcome = quick(embedded(dump), flags);
      EXPECT_EQ(outcome.code, 0) << outcome.err;
      EXPECT_EQ(outcome.out, "");
      const auto warnings = lines_starting(outcome.err, "warning: the vectors contradict the rotation");
      ASSERT_EQ(warnings.size(), 1U) << dump.name << " " << wrong.flags[0] << ": " << outcome.err;
      expect_parts(warnings[0], wrong.parts);
    }
  }
}

TEST_F(RotationAgainstVectors, TheRightSettingIsNotWarnedOf) {
  for (const Embedded& dump : embedded_dumps()) {
    for (const std::vector<std::string>& flags :
         {std::vector<std::string>{}, {"--rope_theta", dump.theta}, {"--rotation_check", "error"}}) {
      const Outcome outcome = quick(embedded(dump), flags);
      EXPECT_EQ(outcome.code, 0) << outcome.err;
      EXPECT_EQ(outcome.err.find("warning"), std::string::npos) << outcome.err;
    }
    const nlohmann::json rotation = run_json()["rotation"];
    EXPECT_EQ(rotation["source"], "config");
    EXPECT_EQ(rotation["ways"].size(), 41U);
    EXPECT_EQ(rotation["configured"], *std::ranges::max_element(rotation["share"]));
  }
}

TEST_F(RotationAgainstVectors, ADumpCapturedBeforeTheRotationNeedsVectorsPre) {
  const Embedded& dump = embedded_dumps()[1];
  const fs::path before = copy_of(embedded(dump), rerotated({RotationShape{}, 1e4}, {}), true);
  const Outcome right = quick(before, {"--vectors", "pre"});
  EXPECT_EQ(right.code, 0);
  EXPECT_EQ(right.err.find("warning"), std::string::npos) << right.err;
  expect_parts(quick(before, {"--quiet"}).err, {"warning: ", "captured before the rotation: pass --vectors pre"});
}

TEST_F(RotationAgainstVectors, AnUnusualThetaIsFound) {
  const Embedded& dump = embedded_dumps()[0];
  const fs::path other = copy_of(embedded(dump), rerotated({RotationShape{}, 1e5}, {RotationShape{}, 3e4}), true);
  const Outcome wrong = quick(other, {"--quiet"});
  const auto warnings = lines_starting(wrong.err, "warning: the vectors contradict the rotation");
  ASSERT_EQ(warnings.size(), 1U) << wrong.err;
  expect_parts(warnings[0], {"theta 100000, half", "pass --rope_theta ", "--rope_layout half"});
  const std::string theta = warnings[0].substr(warnings[0].rfind("--rope_theta ") + 13);
  EXPECT_NEAR(std::stod(theta), 30000, 300) << warnings[0];
  EXPECT_EQ(quick(other, {"--quiet", "--rope_theta", "30000"}).err, "");
}

TEST_F(RotationAgainstVectors, WithoutConfigTheTablesAreTheSame) {
  for (const Embedded& dump : embedded_dumps()) {
    const fs::path bare = copy_of(embedded(dump), [](HeadRows&) {}, false);
    std::vector<std::string> sizes = dump.sizes;
    sizes.emplace_back("--overwrite");
    const Outcome inferred = run(analyze_words(bare, sizes));
    EXPECT_EQ(inferred.code, 0) << inferred.err;
    const auto lines = lines_starting(inferred.err, "the rotation is inferred from the vectors: theta " + dump.theta);
    EXPECT_EQ(lines.size(), 1U) << inferred.err;
    EXPECT_EQ(run_json()["rotation"]["source"], "inferred");
    std::map<std::string, std::string> tables;
    for (const std::string& name : names_in(here_.path())) {
      if (name.ends_with(".csv")) tables[name] = read_bytes(here_ / name);
    }
    EXPECT_EQ(tables.size(), 6U);
    EXPECT_EQ(run(analyze_words(embedded(dump), {"--quiet", "--overwrite"})).code, 0);
    for (const auto& [name, bytes] : tables) EXPECT_TRUE(bytes == read_bytes(here_ / name)) << dump.name << " " << name;
  }
}

TEST_F(RotationAgainstVectors, SyntheticDumpsShowTheirTheta) {
  for (const std::string theta : {"10000", "150000", "2000000"}) {
    for (const std::string layout : {"half", "interleaved"}) {
      for (const std::string dim : {"64", "32"}) {
        const fs::path dump =
            synthetic({"--mean", "1", "--rope_theta", theta, "--rope_layout", layout, "--rope_dim", dim});
        const Outcome known = quick(dump, {"--rotation_check", "error"});
        EXPECT_EQ(known.code, 0) << known.err;
        fs::remove(dump / "config.json");
        const Outcome inferred = quick(dump, {});
        EXPECT_EQ(inferred.code, 0) << inferred.err;
        const nlohmann::json rope = run_json()["model"]["layers"][0]["rope"];
        ASSERT_TRUE(rope.is_object()) << theta << " " << layout << " " << dim << ": " << inferred.err;
        EXPECT_NEAR(rope["theta"].get<double>() / std::stod(theta), 1, 0.01) << layout << " " << dim;
        EXPECT_EQ(rope["layout"], layout) << theta << " " << dim;
        EXPECT_EQ(rope["dim"], std::stoi(dim)) << theta << " " << layout;
      }
    }
  }
}

TEST_F(RotationAgainstVectors, SyntheticDumpsAreNeverWarnedOf) {
  for (const std::vector<std::string>& rotation :
       {std::vector<std::string>{},
        {"--rope_theta", "10000"},
        {"--rope_theta", "500000", "--rope_layout", "interleaved"},
        {"--rope_theta", "10000", "--rope_dim", "16"},
        {"--rope_theta", "30000", "--rope_first", "32", "--rope_layout", "interleaved"}}) {
    for (const std::vector<std::string>& mean : {std::vector<std::string>{}, {"--mean", "0", "--slope", "0"}}) {
      std::vector<std::string> flags = rotation;
      flags.insert(flags.end(), mean.begin(), mean.end());
      const Outcome outcome = quick(synthetic(flags), {});
      EXPECT_EQ(outcome.code, 0) << outcome.err;
      EXPECT_EQ(outcome.err.find("warning"), std::string::npos) << outcome.err;
    }
  }
}

TEST_F(RotationAgainstVectors, AContradictionIsAnErrorOnRequest) {
  const Outcome outcome =
      quick(embedded(embedded_dumps()[1]), {"--rope", "none", "--rotation_check", "error", "--quiet"});
  EXPECT_EQ(outcome.code, 2);
  expect_parts(outcome.err, {"the vectors contradict the rotation", "--rope_theta 10000"});
  EXPECT_FALSE(fs::exists(here_ / "head_metrics.csv"));
  const Outcome off = quick(embedded(embedded_dumps()[1]), {"--rope", "none", "--rotation_check", "off", "--quiet"});
  EXPECT_EQ(off.code, 0);
  EXPECT_EQ(off.err, "");
  EXPECT_EQ(run_json()["rotation"]["share"], nullptr);
}

TEST_F(RotationAgainstVectors, InspectShowsSharesByLayer) {
  const Outcome table = run({"inspect", embedded(embedded_dumps()[1]).string(), "--rotation"});
  EXPECT_EQ(table.code, 0) << table.err;
  expect_parts(table.out, {"  1       theta 10000, half, all 64 components", "layer     config    none       1",
                           "\n0          0.335", "\n9          0.393", "\nall        0.486   0.070   0.486",
                           "Without a config.json: the rotation is inferred", "--rope_config"});
  const Outcome json = run({"inspect", embedded(embedded_dumps()[1]).string(), "--rotation", "--json"});
  const auto parsed = nlohmann::json::parse(json.out);
  EXPECT_EQ(parsed["rotation_shares"]["layers"].size(), 10U);
  EXPECT_EQ(parsed["rotation_shares"]["source"], "config");
}

}  // namespace
}  // namespace attention_plasticity
