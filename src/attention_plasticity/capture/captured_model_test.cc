#include "attention_plasticity/capture/captured_model.h"

#include <gtest/gtest.h>

#include "attention_plasticity/base/refusal_testing.h"
#include "attention_plasticity/capture/small_capture_testing.h"

namespace attention_plasticity {
namespace {

std::string refused(const std::vector<Setting>& settings, const CapturedModel& model = small_model()) {
  return refusal([&] { chosen_heads(resolve_capture(settings), model); });
}

TEST(CapturedModel, ChoosesAllHeadsOfLayersWithAttention) {
  const std::vector<LayerHeads> heads = chosen_heads({}, small_model());
  ASSERT_EQ(heads.size(), 3U);
  EXPECT_EQ(heads[1].queries, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(heads[1].keys, (std::vector<int>{0, 1}));
  EXPECT_TRUE(heads[2].queries.empty());
}

TEST(CapturedModel, TakesTheKeyHeadsThatChosenQueryHeadsRead) {
  const std::vector<LayerHeads> heads =
      chosen_heads(resolve_capture(std::vector<Setting>{{"layers", "1", ""}, {"heads", "2-3", ""}}), small_model());
  EXPECT_TRUE(heads[0].queries.empty());
  EXPECT_EQ(heads[1].queries, (std::vector<int>{2, 3}));
  EXPECT_EQ(heads[1].keys, (std::vector<int>{1}));
}

TEST(CapturedModel, RefusesHeadsAndLayersThatTheModelLacks) {
  EXPECT_EQ(refused({{"layers", "1,3", ""}}), "usage: `layers`: there is no layer 3: the model has 3, from 0 on");
  EXPECT_EQ(refused({{"heads", "0,4", ""}}), "usage: `heads`: there is no query head 4: layer 0 has 4, from 0 on");
  EXPECT_EQ(refused({{"layers", "2", ""}}), "usage: none of the chosen `layers` has attention");
  EXPECT_EQ(refused({}, CapturedModel()), "usage: the model has 0 layers; there should be 1 to 10000");
}

TEST(CapturedModel, RefusesImpossibleLayers) {
  CapturedModel model = small_model();
  model.layers[1] = {4, 3, 8, std::nullopt};
  EXPECT_EQ(refused({}, model),
            "usage: layer 1 has 4 query heads and 3 key heads; the first should be a multiple of the second");
  model.layers[1] = {4, 2, 0, std::nullopt};
  EXPECT_EQ(refused({}, model), "usage: layer 1 has vectors of 0 components; there should be 1 to 65536");
  model.layers[1] = {4, 2, 8, 0};
  EXPECT_EQ(refused({}, model), "usage: layer 1 has a window of 0 tokens; there should be at least one");
}

TEST(CaptureSettings, AreReadByName) {
  const CaptureSettings settings = resolve_capture(std::vector<Setting>{
      {"sampling", "log_uniform", ""}, {"rows_per_bucket", "0.5", ""}, {"max_length", "4096", ""}});
  EXPECT_EQ(settings.sampling, Sampling::log_uniform);
  EXPECT_EQ(settings.rows_per_bucket, 0.5);
  EXPECT_EQ(settings.max_length, 4096);
  EXPECT_EQ(refused({{"sampling", "log", ""}}).substr(0, 18), "usage: `sampling`:");
  EXPECT_EQ(refused({{"rows_per_bucket", "0", ""}}).substr(0, 25), "usage: `rows_per_bucket`:");
  EXPECT_EQ(refused({{"bucket_sise", "1", ""}}).substr(0, 20), "usage: `bucket_sise`");
}

}  // namespace
}  // namespace attention_plasticity
