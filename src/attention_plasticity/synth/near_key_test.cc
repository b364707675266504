#include "attention_plasticity/synth/near_key.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace attention_plasticity {
namespace {

// The share of draws of each key beside its share of the weights 1 / (1 + distance), within 5 deviations.
void expect_shares(const std::vector<std::uint64_t>& positions, std::uint64_t query,
                   std::optional<std::size_t> except) {
  constexpr std::size_t draws = 100'000;
  std::vector<double> weights(positions.size());
  double total = 0;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (i != except) weights[i] = 1 / (1 + static_cast<double>(query - positions[i]));
    total += weights[i];
  }
  NumpyGenerator generator(3);
  std::vector<std::size_t> drawn(positions.size());
  for (std::size_t i = 0; i < draws; ++i) ++drawn[draw_near_key(positions, query, except, generator)];
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const double share = weights[i] / total;
    const double deviation = std::sqrt(share * (1 - share) / draws);
    EXPECT_NEAR(static_cast<double>(drawn[i]) / draws, share, 5 * deviation) << "key " << i;
  }
}

TEST(NearKey, IsDrawnInProportionToItsWeight) {
  expect_shares({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, 15, std::nullopt);
  expect_shares({3, 70, 71, 95, 98, 100}, 100, std::nullopt);
  expect_shares({0, 5, 5, 5, 9}, 9, std::nullopt);  // a document with more rows than tokens
  expect_shares({0}, 1'000'000, std::nullopt);
}

TEST(NearKey, SecondKeyIsNeverTheFirst) {
  for (std::size_t except = 0; except < 6; ++except) expect_shares({3, 70, 71, 95, 98, 100}, 100, except);
  expect_shares({0, 1'000'000}, 1'000'000, 1);  // the heavy one is gone
  expect_shares({0, 1'000'000}, 1'000'000, 0);
  expect_shares({0, 5, 5, 5, 9}, 9, 2);
}

}  // namespace
}  // namespace attention_plasticity
