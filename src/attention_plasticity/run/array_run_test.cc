#include "attention_plasticity/run/array_run.h"

#include <gtest/gtest.h>

#include "attention_plasticity/run/small_dump_testing.h"

namespace attention_plasticity {
namespace {

// Two layers of two query heads that share a key head; the second layer lacks a document.
struct SmallArrays {
  std::vector<HeadRows> queries;
  std::vector<HeadRows> keys;
  std::vector<ArrayHead> heads;

  SmallArrays() {
    const std::vector<std::uint64_t> all{0, 1, 2, 3, 4, 5};
    const std::vector<std::uint64_t> fewer{0, 1, 2, 3, 4};
    for (std::uint64_t layer = 0; layer < 2; ++layer) {
      const std::vector<std::uint64_t>& examples = layer == 0 ? all : fewer;
      keys.push_back(small_rows(10 + layer, examples));
      for (std::uint64_t head = 0; head < 2; ++head) queries.push_back(small_rows(2 * layer + head, examples));
    }
    for (int layer = 0; layer < 2; ++layer) {
      for (int head = 0; head < 2; ++head) {
        heads.push_back({{layer, head, 0},
                         queries[static_cast<std::size_t>(2 * layer + head)],
                         keys[static_cast<std::size_t>(layer)]});
      }
    }
  }
};

RunConfig small_config() {
  RunConfig config;
  config.analysis.num_triples = 500;
  config.max_workers = 2;
  return config;
}

ModelRotation small_rotation() { return ModelRotation::of_settings({.theta = 100}); }

std::vector<double> figures(const RunResult& run) {
  std::vector<double> all;
  for (const HeadResult& result : run.results) {
    all.insert(all.end(),
               {result.plasticity.overall, result.plasticity_error, result.exact->overall, result.exact_error});
  }
  return all;
}

TEST(ArrayRun, InPassesGivesWhatOnePassGives) {
  const SmallArrays arrays;
  Observed once;
  const FinishedRun whole = analyze_arrays(arrays.heads, small_config(), small_rotation(), once.observer(), {});
  ArrayPasses passes;
  std::vector<std::size_t> calls;
  for (const int layer : {0, 1}) passes.heads.push_back({{{layer, 0, 0}, 4}, {{layer, 1, 0}, 4}});
  passes.rows = [&](std::size_t pass) {
    calls.push_back(pass);
    const auto begin = arrays.heads.begin() + static_cast<std::ptrdiff_t>(2 * pass);
    return std::vector<ArrayHead>(begin, begin + 2);
  };
  Observed told;
  const DumpRotation rotation{small_rotation(), 0, RotationSource::config, {}, {}};
  PreparedRun prepared = prepare_passes(passes, small_config(), rotation);
  const RunResult run = run_analysis(prepared, small_config(), {.workers = 2}, told.observer());
  EXPECT_FALSE(run.interrupted);
  ASSERT_EQ(run.results.size(), 4U);
  EXPECT_EQ(figures(run), figures(whole.result));
  EXPECT_EQ(run.model_without_group.exact, whole.result.model_without_group.exact);
  EXPECT_EQ(told.ended, once.ended);
  EXPECT_EQ(told.ended.back(), (std::pair<std::size_t, std::size_t>{4, 4}));
  EXPECT_EQ(calls, (std::vector<std::size_t>{0, 1}));
}

TEST(ArrayRun, WithoutTheRowsOfAPassIsInterrupted) {
  const SmallArrays arrays;
  ArrayPasses passes;
  for (const int layer : {0, 1}) passes.heads.push_back({{{layer, 0, 0}, 4}, {{layer, 1, 0}, 4}});
  passes.rows = [&](std::size_t pass) {
    return pass == 1 ? std::vector<ArrayHead>() : std::vector<ArrayHead>{arrays.heads[0], arrays.heads[1]};
  };
  Observed told;
  const DumpRotation rotation{small_rotation(), 0, RotationSource::config, {}, {}};
  PreparedRun prepared = prepare_passes(passes, small_config(), rotation);
  const RunResult run = run_analysis(prepared, small_config(), {.workers = 2}, told.observer());
  EXPECT_TRUE(run.interrupted);
  EXPECT_FALSE(run.failure);
  EXPECT_EQ(run.results.size(), 2U);
}

// A worker that waits for the next pass must not wait for a head that was given up.
TEST(ArrayRun, EndsAtAStopInTheMiddleOfAPass) {
  const SmallArrays arrays;
  for (int attempt = 0; attempt < 20; ++attempt) {
    ArrayPasses passes;
    for (const int layer : {0, 1}) passes.heads.push_back({{{layer, 0, 0}, 4}, {{layer, 1, 0}, 4}});
    passes.rows = [&](std::size_t pass) {
      const auto begin = arrays.heads.begin() + static_cast<std::ptrdiff_t>(2 * pass);
      return std::vector<ArrayHead>(begin, begin + 2);
    };
    RunConfig config = small_config();
    config.analysis.num_pairs_per_bucket = 200'000;
    config.analysis.sampler = Sampler::local;
    std::stop_source stop;
    const DumpRotation rotation{small_rotation(), 0, RotationSource::config, {}, {}};
    PreparedRun prepared = prepare_passes(passes, config, rotation);
    const RunObserver observer{[&](const HeadEvent&) { stop.request_stop(); }, {}, {}, {}};
    const RunResult run = run_analysis(prepared, config, {.workers = 3, .stop = stop.get_token()}, observer);
    EXPECT_TRUE(run.interrupted);
    EXPECT_FALSE(run.failure);
  }
}

// Tables with larger numbers could be written and not be read again.
TEST(ArrayRun, RefusesNumbersBeyondThoseOfTheTables) {
  const SmallArrays arrays;
  Observed told;
  ArrayHead head = arrays.heads[0];
  head.head.layer = 10'000;
  try {
    analyze_arrays({head}, small_config(), small_rotation(), told.observer(), {});
    FAIL() << "it was taken";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "layer 10000 q_head 0 k_head 0: layers and heads have numbers from 0 to 9999");
  }
}

TEST(ArrayRun, RefusesAHeadThatIsGivenTwice) {
  const SmallArrays arrays;
  Observed told;
  try {
    analyze_arrays({arrays.heads[0], arrays.heads[0]}, small_config(), small_rotation(), told.observer(), {});
    FAIL() << "it was taken";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "layer 0 q_head 0 is given twice");
  }
}

}  // namespace
}  // namespace attention_plasticity
