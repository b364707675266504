#include "attention_plasticity/plasticity/key_pair_sampling.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <ostream>
#include <sstream>
#include <string>

#include "attention_plasticity/error.h"
#include "places.h"

namespace attention_plasticity {

void PrintTo(const SampledKeyPair& pair, std::ostream* out) {
  *out << "example " << pair.example << ": " << pair.k1 << ", " << pair.k2;
}

namespace {

struct GoldenCase {
  std::uint64_t seed = 0;
  std::vector<std::int64_t> lengths;
  double max_relative_distance = 0;
  std::size_t num_pairs = 0;
  std::vector<SampledKeyPair> pairs;
};

std::vector<std::int64_t> integers_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::int64_t>(in), {}};
}

// The rows of the golden file by its column `case`.
std::map<int, GoldenCase> golden_cases() {
  std::ifstream file(source_folder() / "tests/golden/sample_key_pairs.csv");
  std::map<int, GoldenCase> cases;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::array<std::string, 8> field;
    for (std::string& text : field) std::getline(fields, text, ',');
    GoldenCase& c = cases[std::stoi(field[0])];
    c.seed = std::stoull(field[1]);
    c.lengths = integers_of(field[2]);
    c.max_relative_distance = std::stod(field[3]);
    c.num_pairs = std::stoull(field[4]);
    c.pairs.push_back({std::stoull(field[5]), std::stoll(field[6]), std::stoll(field[7])});
  }
  return cases;
}

std::vector<SampledKeyPair> sampled(const std::vector<std::int64_t>& lengths, std::size_t num_pairs,
                                    double max_relative_distance, std::uint64_t seed = 0) {
  NumpyGenerator generator(seed);
  return sample_key_pairs(lengths, num_pairs, max_relative_distance, generator);
}

TEST(SampleKeyPairs, GivesTheGoldenPairs) {
  const auto cases = golden_cases();
  ASSERT_EQ(cases.size(), 12U);
  for (const auto& [number, c] : cases) {
    SCOPED_TRACE("case " + std::to_string(number));
    ASSERT_EQ(c.pairs.size(), c.num_pairs);
    EXPECT_EQ(sampled(c.lengths, c.num_pairs, c.max_relative_distance, c.seed), c.pairs);
  }
}

TEST(SampleKeyPairs, ReachesOneTokenAtLeastAndTheWholeExampleAtMost) {
  for (const double none : {0.0, -1.0, 0.05}) {
    for (const auto& [example, k1, k2] : sampled({10}, 200, none)) EXPECT_EQ(std::abs(k1 - k2), 1);
  }
  EXPECT_EQ(sampled({10}, 200, 1.0), sampled({10}, 200, 1e300));
}

TEST(SampleKeyPairs, DrawsFromTheOnlyExampleThatHasPairs) {
  for (const auto& pair : sampled({1, 0, 2, 1}, 100, 0.05)) {
    EXPECT_EQ(pair.example, 2U);
    EXPECT_EQ(pair.k1 + pair.k2, 1);
  }
}

TEST(SampleKeyPairs, TakesLengthsUpToTheLargestInteger) {
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  for (const double distance : {0.05, 1.0, 2.0}) {
    for (const auto& [example, k1, k2] : sampled({largest}, 20, distance)) {
      EXPECT_GE(k1, 0);
      EXPECT_GE(k2, 0);
      EXPECT_NE(k1, k2);
    }
  }
}

TEST(SampleKeyPairs, GivesNothingWhenNothingIsAskedAndLeavesTheGenerator) {
  NumpyGenerator generator(0);
  EXPECT_TRUE(sample_key_pairs(std::vector<std::int64_t>{5}, 0, 0.05, generator).empty());
  EXPECT_EQ(generator.raw(), NumpyGenerator(0).raw());
}

TEST(SampleKeyPairs, RefusesInputsWithoutPairs) {
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  constexpr auto smallest = std::numeric_limits<std::int64_t>::min();
  struct Case {
    std::vector<std::int64_t> lengths;
    std::string reason;
  };
  const std::vector<Case> refused = {
      {{}, "no example has the two keys"},  {{0}, "no example has the two keys"},
      {{1}, "no example has the two keys"}, {{1, 1, 0}, "no example has the two keys"},
      {{-5}, "negative length -5"},         {{100, -1}, "negative length -1"},
      {{-1, 100}, "negative length -1"},    {{smallest, largest}, "negative length"},
      {{largest, 1}, "add up to 2^63"},     {{largest, largest}, "add up to 2^63"},
  };
  for (const auto& [lengths, reason] : refused) {
    for (const std::size_t num_pairs : {std::size_t{0}, std::size_t{3}}) {
      try {
        sampled(lengths, num_pairs, 0.05);
        ADD_FAILURE() << "accepted " << testing::PrintToString(lengths);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
        EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
      }
    }
  }
}

TEST(SampleKeyPairs, RefusesADistanceThatIsNotFinite) {
  EXPECT_THROW(sampled({10}, 1, std::numeric_limits<double>::quiet_NaN()), Error);
  EXPECT_THROW(sampled({10}, 1, std::numeric_limits<double>::infinity()), Error);
}

RC_GTEST_PROP(SampleKeyPairs, HoldsToTheExampleAndTheDistance, (std::uint64_t seed)) {
  auto lengths = *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 300));
  lengths.push_back(*rc::gen::inRange<std::int64_t>(2, 300));
  const double max_relative_distance = *rc::gen::inRange(0, 101) / 100.0;

  const auto pairs = sampled(lengths, 50, max_relative_distance, seed);
  RC_ASSERT(pairs.size() == 50U);
  for (const auto& [example, k1, k2] : pairs) {
    const std::int64_t length = lengths.at(example);
    const auto reach = std::max(1.0, std::floor(max_relative_distance * static_cast<double>(length)));
    RC_ASSERT(k1 != k2);
    RC_ASSERT(std::min(k1, k2) >= 0);
    RC_ASSERT(std::max(k1, k2) < length);
    RC_ASSERT(static_cast<double>(std::abs(k1 - k2)) <= reach);
  }
}

}  // namespace
}  // namespace attention_plasticity
