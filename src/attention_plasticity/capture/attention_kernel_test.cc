#include "attention_plasticity/capture/attention_kernel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "attention_plasticity/base/highway_targets_testing.h"

namespace attention_plasticity {
namespace {

TEST(AttentionKernel, LogitsAreThoseOfPlainLoops) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  for (const std::size_t width : {1U, 3U, 64U, 80U}) {
    constexpr std::size_t panels = 3;
    constexpr std::size_t stride = panels * keys_at_once;
    std::vector<double> queries(queries_at_once * width);
    std::vector<double> keys(panels * keys_at_once * width);
    for (double& x : queries) x = normal(random);
    for (double& x : keys) x = normal(random);
    for_every_target([&](const char* target) {
      std::vector<double> logits(queries_at_once * stride, -1);
      logits_of_block({queries.data(), keys.data(), width, 1, panels}, logits.data(), stride);
      for (std::size_t r = 0; r < queries_at_once; ++r) {
        for (std::size_t j = 0; j < 2 * keys_at_once; ++j) {
          const std::size_t key = keys_at_once + j;
          double sum = 0;
          for (std::size_t c = 0; c < width; ++c) {
            sum += queries[r * width + c] * keys[(key / keys_at_once * width + c) * keys_at_once + key % keys_at_once];
          }
          ASSERT_NEAR(logits[r * stride + j], sum, 1e-13 * static_cast<double>(width)) << target << " " << width;
        }
        ASSERT_EQ(logits[r * stride + 2 * keys_at_once], -1) << "behind the last key";
      }
    });
  }
}

TEST(AttentionKernel, WeightsAreThoseOfPlainLoops) {
  std::mt19937 random(2);
  std::normal_distribution<double> normal(0, 20);
  const double none = -std::numeric_limits<double>::infinity();
  for (const std::size_t count : {1U, 2U, 7U, 8U, 9U, 33U, 768U}) {
    std::vector<double> logits(count);
    for (double& x : logits) x = normal(random);
    for (const double softcap : {0.0, 30.0}) {
      for (const double sink : {none, 15.0, 200.0}) {
        std::vector<double> capped = logits;
        double top = sink;
        for (double& x : capped) {
          if (softcap > 0) x = softcap * std::tanh(x / softcap);
          top = std::max(top, x);
        }
        WeightSums sums;
        for (std::size_t j = 0; j < count; ++j) {
          const double w = std::exp(capped[j] - top);
          sums.weight += w;
          sums.weighted_log += w * (capped[j] - top);
          sums.weighted_key += w * static_cast<double>(j);
        }
        for_every_target([&](const char* target) {
          std::vector<double> weights = logits;
          const WeightedRow row = weigh_logits(weights, softcap, sink);
          ASSERT_NEAR(row.top, top, 1e-13 * std::abs(top)) << target;
          for (std::size_t j = 0; j < count; ++j) {
            const double w = std::exp(capped[j] - top);
            ASSERT_NEAR(weights[j], w, 1e-12 * w + 1e-300) << target << " " << j << " of " << count;
          }
          ASSERT_NEAR(row.sums.weight, sums.weight, 1e-12 * sums.weight);
          ASSERT_NEAR(row.sums.weighted_log, sums.weighted_log, 1e-12 * std::abs(sums.weighted_log));
          ASSERT_NEAR(row.sums.weighted_key, sums.weighted_key, 1e-12 * sums.weighted_key);
        });
      }
    }
  }
}

TEST(AttentionKernel, LogitsFarBelowTheLargestHaveNoWeight) {
  std::vector<double> logits{0, -1e6, -1e300, -800};
  const WeightedRow row = weigh_logits(logits, 0, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(row.sums.weight, 1);
  EXPECT_EQ(logits[2], 0);
  EXPECT_NEAR(row.sums.weighted_log, 0, 1e-300);
}

}  // namespace
}  // namespace attention_plasticity
