#include "attention_plasticity/source/run_rotation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>

#include "attention_plasticity/base/text_testing.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/run/analysis_run.h"
#include "attention_plasticity/run/results.h"
#include "attention_plasticity/run/rotated_dump_testing.h"

namespace attention_plasticity {
namespace {

// Vectors of a SmallDump have 4 components, and positions stay below 48.
constexpr const char* llama = R"({"model_type": "llama", "head_dim": 4, "rope_theta": 100.0})";

double theta_of(const PreparedRun& prepared) { return prepared.rotation.value().layer(0, 4).theta; }

TEST(RotationSource, IsTheConfigJsonBesideTheHeads) {
  const SmallDump dump(1, 1, 1);
  write_text(dump.root() / "config.json", llama);
  const PreparedRun prepared = prepare_run(dump.config({{"--num_triples", "10"}}));
  EXPECT_EQ(theta_of(prepared), 100);
  EXPECT_EQ(prepared.rotation->layer(0, 4).rotation.frequency, (std::vector<double>{1.0, 0.1}));
  EXPECT_TRUE(prepared.notes.empty());
}

TEST(RotationSource, IsTheConfigJsonInTheRootWhereHeadsLieBelow) {
  const SmallDump dump(1, 1, 1);
  const std::filesystem::path below = dump.root() / "model";
  std::filesystem::create_directory(below);
  for (const char* head : {"l00h00q", "l00h00k"}) std::filesystem::rename(dump.root() / head, below / head);
  write_text(dump.root() / "config.json", llama);
  EXPECT_EQ(theta_of(prepare_run(dump.config({{"--num_triples", "10"}, {"--model_dir", "model"}}))), 100);
  write_text(below / "config.json", R"({"model_type": "llama", "head_dim": 4, "rope_theta": 400.0})");
  EXPECT_EQ(theta_of(prepare_run(dump.config({{"--num_triples", "10"}, {"--model_dir", "model"}}))), 400);
}

TEST(RotationSource, PrefersSettingsToAGivenConfigAndThatToAFoundOne) {
  const SmallDump dump(1, 1, 1);
  write_text(dump.root() / "config.json", llama);
  const std::string given = (dump.root() / "given.json").string();
  write_text(given, R"({"model_type": "llama", "head_dim": 4, "rope_theta": 225.0})");
  EXPECT_EQ(theta_of(prepare_run(dump.config({{"--num_triples", "10"}, {"--rope_config", given}}))), 225);
  const PreparedRun prepared = prepare_run(dump.config({{"--num_triples", "10"},
                                                        {"--rope_config", given},
                                                        {"--rope_theta", "900"},
                                                        {"--rope_dim", "2"},
                                                        {"--rope_layout", "interleaved"}}));
  EXPECT_EQ(theta_of(prepared), 900);
  EXPECT_EQ(prepared.rotation->layer(0, 4).rotation.dim(), 2U);
  EXPECT_EQ(prepared.rotation->layer(0, 4).rotation.layout, RotaryLayout::interleaved);
  EXPECT_EQ(prepare_run(dump.config({{"--num_triples", "10"}, {"--rope", "none"}, {"--rope_theta", "900"}}))
                .rotation->layer(0, 4)
                .kind,
            RotaryKind::none);
}

TEST(RotationSource, IsSilentWhenPositionExactPlasticityIsOff) {
  const SmallDump dump(1, 1, 1);
  write_text(dump.root() / "config.json", R"({"model_type": "llama", "rope_scaling": {"rope_type": "unheard of"}})");
  const PreparedRun prepared = prepare_run(dump.config());
  EXPECT_FALSE(prepared.rotation);
  EXPECT_TRUE(prepared.notes.empty());
}

TEST(RotationSource, TellsWhatToPassWhenNothingIsKnown) {
  const SmallDump dump(1, 1, 1);
  write_text(dump.root() / "config.json", R"({"model_type": "novel", "n_head": 12})");
  const PreparedRun prepared = prepare_run(dump.config({{"--num_triples", "10"}, {"--vectors", "pre"}}));
  EXPECT_FALSE(prepared.rotation);
  ASSERT_EQ(prepared.notes.size(), 1U);
  for (const char* part : {"position-exact plasticity is left out", "`rope_config`", "`rope_theta`"}) {
    EXPECT_NE(prepared.notes[0].find(part), std::string::npos) << part;
  }
}

TEST(RotationSource, IgnoresAFoundConfigThatIsNoJsonAfterItsWarning) {
  const SmallDump dump(1, 1, 1);
  write_text(dump.root() / "config.json", "{");
  const PreparedRun prepared = prepare_run(dump.config({{"--num_triples", "10"}, {"--vectors", "pre"}}));
  EXPECT_FALSE(prepared.rotation);
  EXPECT_EQ(prepared.notes.size(), 1U);
  EXPECT_EQ(prepared.warnings.size(), 1U);
}

TEST(RotationSource, RefusesAGivenConfigThatCannotBeUsed) {
  const SmallDump dump(1, 1, 1);
  const std::string given = (dump.root() / "given.json").string();
  const auto refused = [&] { return refusal_of(dump.config({{"--num_triples", "10"}, {"--rope_config", given}})); };
  EXPECT_EQ(refused().message, "rope_config: there is no such file");
  write_text(given, "[1]");
  EXPECT_EQ(refused().kind, ErrorKind::usage);
  EXPECT_TRUE(refused().message.starts_with("rope_config: ")) << refused().message;
  EXPECT_EQ(refused().file, given);
  write_text(given, R"({"model_type": "novel"})");
  EXPECT_EQ(refused().message,
            "rope_config: describes no rotation; pass `rope_theta`, or `rope: none` for a model without rotation");
  write_text(given, R"({"model_type": "llama", "rope_theta": 1e4, "rope_scaling": {"rope_type": "unheard of"}})");
  EXPECT_EQ(refused().kind, ErrorKind::usage);
  EXPECT_NE(refused().message.find("unheard of"), std::string::npos) << refused().message;
  EXPECT_EQ(refused().file, given);
}

TEST(RotationSource, RefusesAHeadWidthThatDoesNotFitBeforeAnyHeadIsRead) {
  const SmallDump dump(2, 1, 1);
  write_text(dump.root() / "config.json", R"({"model_type": "llama", "head_dim": 128, "rope_theta": 1e4})");
  const Refusal refused = refusal_of(dump.config({{"--num_triples", "10"}}));
  EXPECT_EQ(refused.kind, ErrorKind::usage);
  EXPECT_NE(refused.message.find('4'), std::string::npos) << refused.message;
  EXPECT_NE(refused.message.find("128"), std::string::npos) << refused.message;
  EXPECT_EQ(refusal_of(dump.config({{"--num_triples", "10"}, {"--rope_theta", "10"}, {"--rope_dim", "6"}})).kind,
            ErrorKind::usage);
}

TEST(RotationSource, RefusesADynamicModelBeyondItsTrainedLength) {
  const SmallDump dump(1, 1, 1);
  const auto config = [&](const std::string& length) {
    return dump.config(
        {{"--num_triples", "10"},
         {"--rope_theta", "100"},
         {"--rope_scaling", R"({"rope_type": "dynamic", "factor": 2, "max_position_embeddings": )" + length + "}"}});
  };
  EXPECT_EQ(theta_of(prepare_run(config("48"))), 100);
  EXPECT_EQ(refusal_of(config("40")).kind, ErrorKind::usage);
}

// The largest position counts wherever it lies, also outside the selection.
TEST(RotationSource, TakesLongFactorsWhereTheDumpReachesPastTheOriginalLength) {
  const SmallDump dump(2, 1, 1);
  const auto frequency = [&](double reach) {
    HeadRows rows = small_rows(7);
    rows.position.back() = reach;
    dump.write(Side::query, 1, 0, rows);
    const PreparedRun prepared = prepare_run(
        dump.config({{"--num_triples", "10"},
                     {"--layers", "0"},
                     {"--rope_theta", "100"},
                     {"--rope_scaling", R"({"rope_type": "longrope", "short_factor": [1, 1], "long_factor": [2, 4],
                                           "original_max_position_embeddings": 64, "max_position_embeddings": 256})"}}));
    return prepared.rotation->layer(0, 4).rotation.frequency;
  };
  EXPECT_EQ(frequency(63), (std::vector<double>{1.0, 0.1}));
  EXPECT_EQ(frequency(64), (std::vector<double>{0.5, 0.025}));
}

class ExactRun : public testing::Test {
 protected:
  ExactRun() { write_text(dump_.root() / "config.json", llama); }
  SmallDump dump_{2, 2, 1};
};

TEST_F(ExactRun, MeasuresEveryHead) {
  const RunResult run = run_of(dump_.config({{"--num_triples", "50"}}), 2);
  ASSERT_EQ(run.results.size(), 4U);
  for (const HeadResult& result : run.results) {
    EXPECT_EQ(result.exact.value().n_triples, 50U);
    EXPECT_GT(result.exact_error, 0);
    EXPECT_GT(result.exact->overall, 0);
    EXPECT_LT(result.exact->overall, 1);
  }
}

TEST_F(ExactRun, HasAModelErrorFromTheMeanOverHeadsWithoutEachGroup) {
  const RunResult run = run_of(dump_.config({{"--num_triples", "50"}}), 2);
  ASSERT_EQ(run.model_without_group.exact.size(), 6U);
  for (std::size_t g = 0; g < 6; ++g) {
    double mean = 0;
    for (const WithoutGroup& head : run.without_group) mean += head.exact[g] / 4;
    EXPECT_NEAR(run.model_without_group.exact[g], mean, 1e-15);
  }
  EXPECT_NE(run.model_without_group.exact, run.model_without_group.overall);
}

TEST_F(ExactRun, LeavesTheGroupsOfTheFirstHeadsDocumentsOutOfAllHeads) {
  dump_.write(Side::query, 1, 1, small_rows(9, {3, 4, 5, 6, 7}));
  const RunResult run = run_of(dump_.config({{"--num_triples", "50"}}), 2);
  EXPECT_EQ(run.model_without_group.exact.size(), 6U);
  for (const double mean : run.model_without_group.exact) EXPECT_FALSE(std::isnan(mean));
}

TEST_F(ExactRun, TakesHeadsOfAnyWidthUnlessAConfigJsonNamesIt) {
  HeadRows narrow = small_rows(3);
  narrow.width = 2;
  narrow.vectors.resize(2 * narrow.size());
  dump_.write(Side::query, 1, 0, narrow);
  dump_.write(Side::query, 1, 1, narrow);
  dump_.write(Side::key, 1, 0, narrow);
  for (const RunConfig& config :
       {dump_.config({{"--num_triples", "50"}}), dump_.config({{"--num_triples", "50"}, {"--rope_theta", "10"}})}) {
    const RunResult run = run_of(config);
    EXPECT_EQ(run.results.size(), 2U);
    EXPECT_EQ(run.failures.size(), 2U);
  }
  std::filesystem::remove(dump_.root() / "config.json");
  EXPECT_EQ(run_of(dump_.config({{"--num_triples", "50"}, {"--rope_theta", "10"}})).results.size(), 4U);
}

struct Checked {
  std::vector<std::string> warnings;
  RunResult result;
};

Checked checked(const SmallDump& dump, Flags flags, int workers = 1) {
  RunConfig config = dump.config(flags);
  config.analysis.num_triples = 8;
  Observed observed;
  Checked run{{}, run_of(config, workers, observed)};
  run.warnings = std::move(observed.warnings);
  return run;
}

TEST(RotationCheck, IsAnErrorOrOffOnRequest) {
  const RotatedDump dump(1, 16, 1, [](int) { return rotation_with(10000, 16); });
  RunConfig config = dump.config({{"--rope", "none"}, {"--rotation_check", "error"}, {"--num_triples", "8"}});
  try {
    run_of(config);
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    expect_parts(error.what(), {"the vectors contradict the rotation", "`rope_theta: 10000`"});
  }
  const Checked off = checked(dump, {{"--rope", "none"}, {"--rotation_check", "off"}});
  EXPECT_TRUE(off.warnings.empty());
  EXPECT_FALSE(off.result.rotation_shares);
  EXPECT_TRUE(checked(dump, {{"--rope_theta", "10000"}, {"--rotation_check", "error"}}).warnings.empty());
}

TEST(RotationCheck, GivesTheSameSharesForAnyNumberOfWorkers) {
  const RotatedDump dump(3, 16, 1, [](int) { return rotation_with(10000, 16); });
  const Flags flags{{"--rope_theta", "40000"}};
  const Checked one = checked(dump, flags, 1);
  const Checked three = checked(dump, flags, 3);
  EXPECT_EQ(one.warnings, three.warnings);
  ASSERT_EQ(one.result.rotation_shares->layers.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const FixedEnergy& a = one.result.rotation_shares->layers[i].shares;
    const FixedEnergy& b = three.result.rotation_shares->layers[i].shares;
    EXPECT_EQ(a.common, b.common);
    EXPECT_EQ(a.configured, b.configured);
  }
}

// Counts how often each file is opened.
class CountedFiles : public DumpFiles {
 public:
  std::shared_ptr<const InputFile> open(const std::filesystem::path& file) const override {
    ++opened[file];
    return disk_files().open(file);
  }
  bool exists(const std::filesystem::path& file) const override { return disk_files().exists(file); }
  std::string text(const std::filesystem::path& file) const override { return disk_files().text(file); }

  mutable std::map<std::filesystem::path, int> opened;
};

TEST(RotationCheck, ReadsNoFileTwice) {
  const RotatedDump dump(10, 16, 1, [](int) { return rotation_with(30000, 16); });
  RunConfig config = dump.config({{"--rope_theta", "100000"}, {"--num_triples", "8"}});
  PreparedRun prepared = prepare_run(config);
  const auto files = std::make_shared<CountedFiles>();
  prepared.layout.store = files;
  prepared.source = std::make_shared<FileSource>(prepared.layout, config);
  prepared.reference_documents = {{0, 5}};  // so that the first head is not read for its documents
  decide(prepared, config, serialized({}), {});
  EXPECT_EQ(files->opened.size(), 16U) << "the first query and key head of eight layers";
  for (const auto& [file, count] : files->opened) EXPECT_EQ(count, 1) << file;
  files->opened.clear();
  Observed observed;
  const RunResult run = run_analysis(prepared, config, {.workers = 1}, observed.observer());
  EXPECT_EQ(files->opened.size(), 30U);
  for (const auto& [file, count] : files->opened) EXPECT_EQ(count, 1) << file << ", to be measured";
  ASSERT_EQ(observed.warnings.size(), 1U);
  EXPECT_TRUE(run.rotation_shares);
}

TEST(RotationCheck, SkipsFilesThatCannotBeRead) {
  const RotatedDump dump(2, 16, 1, [](int) { return rotation_with(10000, 16); });
  write_text(dump.file(Side::query, 0, 0), "not Parquet");
  dump.remove(Side::key, 1, 0);
  const Checked run = checked(dump, {{"--rope_theta", "10000"}});
  EXPECT_TRUE(run.warnings.empty());
  ASSERT_TRUE(run.result.rotation_shares);
  EXPECT_EQ(run.result.rotation_shares->layers.size(), 1U) << "without its keys, layer 1 is not read";
}

PreparedRun prepared(const SmallDump& dump, Flags flags = {}) {
  RunConfig config = dump.config(flags);
  config.analysis.num_triples = 8;
  PreparedRun run = prepare_run(config);
  Observed observed;
  decide(run, config, serialized(observed.observer()), {});
  run.notes.insert(run.notes.end(), observed.notes.begin(), observed.notes.end());
  run.warnings.insert(run.warnings.end(), observed.warnings.begin(), observed.warnings.end());
  return run;
}

TEST(RotationInference, LeavesOutALayerThatFitsAnotherCandidate) {
  const RotatedDump dump(6, 16, 1.5, [](int layer) {
    return rotation_with(10000, 16, layer == 4 ? RotaryLayout::interleaved : RotaryLayout::half);
  });
  const PreparedRun run = prepared(dump);
  ASSERT_TRUE(run.rotation);
  EXPECT_FALSE(run.rotation->is_known_in(4));
  EXPECT_TRUE(run.rotation->is_known_in(3));
  expect_parts(run.notes.front(), {"no `ap_exact`, in layer 4"});
  RunConfig config = dump.config({{"--num_triples", "8"}});
  const RunResult result = run_of(config);
  for (const HeadResult& head : result.results) EXPECT_EQ(head.exact.has_value(), head.head.layer != 4);
}

TEST(RotationInference, NeedsVectorsThatWereRotated) {
  const RotatedDump dump(2, 16, 1, [](int) { return Rotation{}; });
  const PreparedRun run = prepared(dump, {{"--vectors", "pre"}});
  EXPECT_FALSE(run.rotation);
  expect_parts(run.notes.front(), {"position-exact plasticity is left out", "captured before it do not show it"});
}

TEST(RotationInference, IsNotAskedWhenSettingsOrAConfigSpeak) {
  const RotatedDump dump(1, 16, 1, [](int) { return rotation_with(10000, 16); });
  EXPECT_EQ(prepared(dump, {{"--rope_theta", "500"}}).rotation->source, RotationSource::flags);
  EXPECT_EQ(prepared(dump, {{"--rope", "none"}}).rotation->source, RotationSource::flags);
  write_text(dump.root() / "config.json", R"({"model_type": "llama", "head_dim": 16, "rope_theta": 500})");
  EXPECT_EQ(prepared(dump).rotation->source, RotationSource::config);
}

}  // namespace
}  // namespace attention_plasticity
