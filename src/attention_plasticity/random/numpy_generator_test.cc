#include "attention_plasticity/random/numpy_generator.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attention_plasticity/error.h"
#include "places.h"

namespace attention_plasticity {
namespace {

using Indices = std::vector<std::size_t>;

constexpr GeneratorSeed two_to_the_64 = GeneratorSeed{1} << 64U;

const nlohmann::json& golden() {
  static const nlohmann::json figures =
      nlohmann::json::parse(std::ifstream(source_folder() / "tests/golden/numpy_default_rng.json"));
  return figures;
}

// Calls `check` with each golden seed and its figures.
template <typename Check>
void for_each_golden_seed(const Check& check) {
  ASSERT_FALSE(golden().empty());
  for (const auto& [seed, figures] : golden().items()) {
    SCOPED_TRACE("seed " + seed);
    check(std::stoull(seed), figures);
  }
}

std::uint64_t checksum(const Indices& values) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += (i + 1) * values[i];
  return sum;
}

template <typename Draw>
auto drawn(std::size_t count, const Draw& draw) {
  std::vector<decltype(draw())> values(count);
  std::ranges::generate(values, draw);
  return values;
}

TEST(NumpyGenerator, GivesTheGoldenRawWords) {
  for_each_golden_seed([](GeneratorSeed seed, const nlohmann::json& figures) {
    NumpyGenerator generator(seed);
    ASSERT_FALSE(figures.at("raw").empty());
    for (const std::string word : figures.at("raw")) EXPECT_EQ(generator.raw(), std::stoull(word));
  });
}

TEST(NumpyGenerator, GivesTheGoldenUniforms) {
  for_each_golden_seed([](GeneratorSeed seed, const nlohmann::json& figures) {
    NumpyGenerator generator(seed);
    ASSERT_FALSE(figures.at("random").empty());
    for (const double uniform : figures.at("random")) EXPECT_EQ(generator.random(), uniform);
  });
}

TEST(NumpyGenerator, GivesTheGoldenIntegers) {
  for_each_golden_seed([](GeneratorSeed seed, const nlohmann::json& figures) {
    ASSERT_FALSE(figures.at("integers").empty());
    for (const auto& [n, expected] : figures.at("integers").items()) {
      SCOPED_TRACE("n = " + n);
      NumpyGenerator generator(seed);
      for (const std::uint64_t value : expected) EXPECT_EQ(generator.integers(std::stoull(n)), value);
    }
  });
}

TEST(NumpyGenerator, GivesTheGoldenChoicesWithoutReplacement) {
  for_each_golden_seed([](GeneratorSeed seed, const nlohmann::json& figures) {
    ASSERT_FALSE(figures.at("choice_without_replacement").empty());
    for (const auto& [n_and_k, expected] : figures.at("choice_without_replacement").items()) {
      SCOPED_TRACE("n,k = " + n_and_k);
      const std::size_t n = std::stoull(n_and_k);
      const std::size_t k = std::stoull(n_and_k.substr(n_and_k.find(',') + 1));
      NumpyGenerator generator(seed);
      const Indices chosen = generator.choice_without_replacement(n, k);
      ASSERT_EQ(chosen.size(), k);

      const Indices head = expected.at("head");
      const Indices tail = expected.at("tail");
      EXPECT_TRUE(std::ranges::equal(std::span(chosen).first(head.size()), head));
      EXPECT_TRUE(std::ranges::equal(std::span(chosen).last(tail.size()), tail));
      EXPECT_EQ(std::to_string(checksum(chosen)), expected.at("checksum"));
      EXPECT_EQ(std::to_string(generator.raw()), expected.at("next_raw"));
    }
  });
}

TEST(NumpyGenerator, GivesTheGoldenMixtureOfDraws) {
  for_each_golden_seed([](GeneratorSeed seed, const nlohmann::json& figures) {
    const auto& expected = figures.at("mixed: integers(100), choice(7,2), random()");
    ASSERT_FALSE(expected.empty());
    ASSERT_EQ(expected.size() % 3, 0U);
    NumpyGenerator generator(seed);
    for (std::size_t i = 0; i < expected.size(); i += 3) {
      EXPECT_EQ(generator.integers(100), expected[i].get<std::uint64_t>());
      EXPECT_EQ(generator.choice_without_replacement(7, 2), expected[i + 1].get<Indices>());
      EXPECT_EQ(generator.random(), expected[i + 2].get<double>());
    }
  });
}

// The figures from here on were printed by NumPy 2.4.

TEST(NumpyGenerator, TakesSeedsOfAnyWidth) {
  const auto first_word = [](GeneratorSeed seed) { return NumpyGenerator(seed).raw(); };
  EXPECT_EQ(first_word(0xFFFFFFFFU), 4647538520743280031U);
  EXPECT_EQ(first_word(two_to_the_64 - 1), 12544278110101001871U);
  EXPECT_EQ(first_word(two_to_the_64), 8286993518594409552U);
  EXPECT_EQ(first_word(two_to_the_64 + GeneratorSeed{10007} * 31 + GeneratorSeed{379} * 15), 18123291871304606249U);
  EXPECT_EQ(first_word(2 * two_to_the_64 - 1), 7565804826222377764U);
  EXPECT_EQ(first_word((two_to_the_64 << 32U) + 5), 10620385866036000455U);
  EXPECT_EQ(first_word(~GeneratorSeed{0}), 4480973156916348641U);
}

TEST(NumpyGenerator, RejectsWordsThatWouldFavourSomeIntegers) {
  struct Case {
    std::uint64_t n;
    std::vector<std::uint64_t> values;
    std::uint64_t next_raw;
  };
  const std::vector<Case> cases = {
      {(1ULL << 31U) + 1,
       {942484272, 1843824993, 184566854, 1497586439, 432652533, 202244314, 1130604998, 1540770720},
       2363279394319028499U},
      {3ULL << 30U,
       {2493086937, 2108522448, 1413726408, 2765737489, 276850281, 2246379658, 648978800, 303366471},
       17997055833233904524U},
      {3ULL << 61U,
       {3035954346590650344, 5939376034059241549, 4824063583966999348, 6748895937462714196, 5265205982608349610,
        3115557799033939721, 2565006096020841999, 6410923712161666817},
       11877215088116289030U},
      {(1ULL << 63U) + 1,
       {7138484576005690180, 4047939128787533792, 7919168045412322066, 868632717012091125, 8998527916616952262,
        7250163532461132704, 1181639697159514249, 3420008128027789332},
       17095796565764444847U},
      {std::numeric_limits<std::uint64_t>::max(),
       {14276969152011380359U, 8095878257575067584U, 15838336090824644131U, 12864169557245331596U, 1737265434024182250U,
        17997055833233904523U, 14040549286955598960U, 14500327064922265407U},
       2363279394319028499U},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.n);
    NumpyGenerator generator(42);
    EXPECT_EQ(drawn(c.values.size(), [&] { return generator.integers(c.n); }), c.values);
    EXPECT_EQ(generator.raw(), c.next_raw);
  }
}

TEST(NumpyGenerator, KeepsTheSpareHalfWordAcrossOtherDraws) {
  NumpyGenerator generator(5);
  EXPECT_EQ(generator.integers(10), 6U);
  EXPECT_EQ(generator.random(), 0x1.9daa6a4a0b993p-1);
  EXPECT_EQ(generator.integers(10), 8U);
  EXPECT_EQ(generator.raw(), 9506078739185184192U);
  EXPECT_EQ(generator.choice_without_replacement(5, 2), (Indices{2, 1}));
  EXPECT_EQ(generator.integers(1ULL << 40U), 421518542151U);
  EXPECT_EQ(generator.integers(1ULL << 32U), 231630602U);
  EXPECT_EQ(generator.integers(1), 0U);
  EXPECT_EQ(generator.integers(1000), 571U);
  EXPECT_EQ(generator.raw(), 835179914805982670U);
}

TEST(NumpyGenerator, DrawsNothingToChooseAllOrNoneOfOne) {
  for (const auto& [n, k] : {std::pair{0, 0}, {5, 0}, {1, 1}}) {
    NumpyGenerator generator(9);
    EXPECT_EQ(generator.choice_without_replacement(static_cast<std::size_t>(n), static_cast<std::size_t>(k)),
              Indices(static_cast<std::size_t>(k), 0));
    EXPECT_EQ(generator.raw(), NumpyGenerator(9).raw());
  }
}

TEST(NumpyGenerator, ChoosesFromPopulationsOfMoreThan32Bits) {
  const auto chosen = [](std::size_t n, std::size_t k) { return NumpyGenerator(9).choice_without_replacement(n, k); };
  EXPECT_EQ(chosen(1ULL << 32U, 2), (Indices{1810532128, 3737691870}));
  EXPECT_EQ(chosen((1ULL << 32U) + 1, 2), (Indices{1810532129, 1231870533}));
  EXPECT_EQ(chosen(1ULL << 40U, 3), (Indices{956849118826, 315358856437, 663168404253}));
}

TEST(NumpyGenerator, ChangesItsWayOfChoosingWhereNumpyDoes) {
  const auto checksum_of = [](std::size_t n, std::size_t k) {
    return checksum(NumpyGenerator(9).choice_without_replacement(n, k));
  };
  EXPECT_EQ(checksum_of(10000, 201), 101414561U);
  EXPECT_EQ(checksum_of(10001, 200), 101133960U);
  EXPECT_EQ(checksum_of(10050, 201), 103541332U);
  EXPECT_EQ(checksum_of(10050, 202), 111131774U);
}

TEST(NumpyGenerator, ChoosesTheSameWithAndWithoutHashing) {
  const auto checksum_of = [](std::size_t n, std::size_t k) {
    return checksum(NumpyGenerator(9).choice_without_replacement(n, k));
  };
  EXPECT_EQ(checksum_of(10000, 48), 7443277U);
  EXPECT_EQ(checksum_of(10000, 49), 7416646U);
}

TEST(NumpyGenerator, ChoosesByWeight) {
  NumpyGenerator even(3);
  const std::vector<double> tenths = cumulative_distribution(std::vector<double>(10, 0.1));
  EXPECT_EQ(drawn(16, [&] { return even.choice_cumulative(tenths); }),
            (Indices{0, 2, 8, 5, 0, 4, 4, 1, 7, 1, 3, 5, 4, 5, 7, 9}));
  EXPECT_EQ(even.raw(), 5242586133124378272U);

  NumpyGenerator uneven(3);
  const std::vector<double> p = cumulative_distribution(std::vector<double>{0, 0.25, 0, 0.5, 0.25, 0});
  EXPECT_EQ(drawn(16, [&] { return uneven.choice_cumulative(p); }),
            (Indices{1, 1, 4, 3, 1, 3, 3, 1, 3, 1, 3, 3, 3, 3, 3, 4}));
}

TEST(NumpyGenerator, PassesOverAnEntryThatEqualsTheUniform) {
  const double uniform = NumpyGenerator(1).random();
  EXPECT_EQ(NumpyGenerator(1).choice_cumulative(std::vector{uniform, 1.0}), 1U);
  EXPECT_EQ(NumpyGenerator(1).choice_cumulative(std::vector{std::nextafter(uniform, 1.0), 1.0}), 0U);
}

TEST(NumpyGenerator, ChoosesTwoAsItChoosesMany) {
  for (const std::uint64_t n : {2ULL, 3ULL, 5ULL, 27ULL, 10001ULL, (1ULL << 32U) - 1, (1ULL << 32U) + 2, 1ULL << 40U}) {
    SCOPED_TRACE(n);
    NumpyGenerator one(n), other(n);
    for (int i = 0; i < 200; ++i) {
      if (i % 3 == 0) {  // takes half a word
        EXPECT_EQ(one.integers(7), other.integers(7));
      }
      const auto [first, second] = one.choose_two(n);
      EXPECT_EQ((Indices{first, second}), other.choice_without_replacement(n, 2));
    }
    EXPECT_EQ(one.raw(), other.raw());
  }
}

TEST(NumpyGenerator, RefusesWhatCannotBeDrawn) {
  NumpyGenerator generator(0);
  Indices three(3);
  EXPECT_THROW(generator.integers(0), Error);
  EXPECT_THROW(generator.choice_without_replacement(2, 3), Error);
  EXPECT_THROW(generator.choice_without_replacement(2, three), Error);
  // Too many to fit into memory: refused before any is allocated.
  EXPECT_THROW(generator.choice_without_replacement(2, std::numeric_limits<std::size_t>::max()), Error);
  EXPECT_EQ(generator.raw(), NumpyGenerator(0).raw()) << "a refused draw must draw nothing";
}

RC_GTEST_PROP(NumpyGenerator, ChoosesDifferentNumbersBelowN, (std::uint64_t seed)) {
  const auto n = *rc::gen::inRange<std::size_t>(0, 12000);
  const auto k = *rc::gen::oneOf(rc::gen::inRange<std::size_t>(0, n + 1),
                                 rc::gen::inRange<std::size_t>(0, std::min<std::size_t>(n, 60) + 1));
  NumpyGenerator generator(seed);
  Indices chosen = generator.choice_without_replacement(n, k);
  NumpyGenerator twin(seed);
  Indices in_place(k);
  twin.choice_without_replacement(n, in_place);
  RC_ASSERT(chosen == in_place);
  RC_ASSERT(generator.raw() == twin.raw());

  std::ranges::sort(chosen);
  RC_ASSERT(std::ranges::adjacent_find(chosen) == chosen.end());
  RC_ASSERT(std::ranges::all_of(chosen, [n](std::size_t i) { return i < n; }));
}

RC_GTEST_PROP(NumpyGenerator, StaysBelowN, (std::uint64_t seed)) {
  const auto n = *rc::gen::positive<std::uint64_t>();
  NumpyGenerator generator(seed);
  for (int i = 0; i < 10; ++i) RC_ASSERT(generator.integers(n) < n);
}

TEST(CumulativeDistribution, SumsFromTheLeftAndEndsAtOne) {
  EXPECT_EQ(cumulative_distribution(std::vector{1.0, 0.0, 3.0, 4.0}), (std::vector{0.125, 0.125, 0.5, 1.0}));
  // Ten tenths add up to a little less than one, and all entries are divided by that sum.
  const std::vector<double> tenths = cumulative_distribution(std::vector<double>(10, 0.1));
  EXPECT_EQ(tenths[2], (0.1 + 0.1 + 0.1) / 0x1.fffffffffffffp-1);
  EXPECT_EQ(tenths.back(), 1.0);
}

TEST(CumulativeDistribution, RefusesWeightsWithoutADistribution) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::vector<double>> refused = {{},         {0, 0},     {0.5, -0.1, 0.6},
                                                    {0.5, nan}, {infinity}, {1e308, 1e308}};
  for (const auto& weights : refused) {
    try {
      cumulative_distribution(weights);
      ADD_FAILURE() << "accepted " << testing::PrintToString(weights);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
    }
  }
}

}  // namespace
}  // namespace attention_plasticity
