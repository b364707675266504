#include "attention_plasticity/run/rotation_source.h"

#include <gtest/gtest.h>

#include <cmath>

#include "attention_plasticity/error.h"
#include "attention_plasticity/run/analysis_run.h"
#include "attention_plasticity/run/result_tables.h"
#include "attention_plasticity/run/run_json.h"
#include "attention_plasticity/run/small_dump_testing.h"

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

}  // namespace
}  // namespace attention_plasticity
