#include "attention_plasticity/rotary/rotary_parameters.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <string>

#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

RotaryParameters parameters_of(RotaryKind kind) {
  RotaryParameters parameters;
  parameters.kind = kind;
  parameters.factor = 4;
  parameters.low_freq_factor = 1;
  parameters.high_freq_factor = 4;
  parameters.short_factor = {1, 2, 3, 4};
  parameters.long_factor = {10, 20, 30, 40};
  parameters.original_length = 100;
  parameters.trained_length = 400;
  return parameters;
}

Rotation made_rotation(const RotaryParameters& parameters, double largest_position = 0) {
  return make_rotation(parameters, 8, RotaryLayout::half, largest_position);
}

std::string refusal(RotaryKind kind, const std::function<void(RotaryParameters&)>& spoil, double largest_position = 0) {
  RotaryParameters parameters = parameters_of(kind);
  spoil(parameters);
  try {
    made_rotation(parameters, largest_position);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "not refused";
}

TEST(RotaryKind, HasTheNamesOfConfigs) {
  EXPECT_EQ(rotary_kind_name(RotaryKind::none), "none");
  EXPECT_EQ(rotary_kind_name(RotaryKind::standard), "default");
  std::string names;
  for (const auto kind : {RotaryKind::standard, RotaryKind::linear, RotaryKind::dynamic, RotaryKind::yarn,
                          RotaryKind::llama3, RotaryKind::longrope, RotaryKind::listed}) {
    EXPECT_EQ(rotary_kind_of(rotary_kind_name(kind)), kind);
    names += (names.empty() ? "" : ", ") + std::string(rotary_kind_name(kind));
  }
  EXPECT_EQ(rotary_kind_names(), names);
  EXPECT_EQ(rotary_kind_of("none"), std::nullopt);
  EXPECT_EQ(rotary_kind_of("Default"), std::nullopt);
}

TEST(MakeRotation, OfNoneIsTheIdentity) { EXPECT_EQ(made_rotation(parameters_of(RotaryKind::none)).dim(), 0U); }

TEST(MakeRotation, StandardFrequenciesAreAGeometricSeries) {
  RotaryParameters parameters;
  parameters.theta = 81;
  const Rotation rotation = make_rotation(parameters, 8, RotaryLayout::interleaved, 0);
  EXPECT_EQ(rotation.layout, RotaryLayout::interleaved);
  ASSERT_EQ(rotation.dim(), 8U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(rotation.frequency[i], std::pow(3.0, -static_cast<double>(i)));
  EXPECT_EQ(rotation.attention_factor, 1);
}

TEST(MakeRotation, LinearDividesEveryFrequency) {
  const Rotation standard = made_rotation(parameters_of(RotaryKind::standard));
  const Rotation linear = made_rotation(parameters_of(RotaryKind::linear));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(linear.frequency[i], standard.frequency[i] / 4);
  EXPECT_EQ(linear.attention_factor, 1);
}

TEST(MakeRotation, DynamicIsStandardUpToTheTrainedLength) {
  EXPECT_EQ(made_rotation(parameters_of(RotaryKind::dynamic), 399).frequency,
            made_rotation(parameters_of(RotaryKind::standard)).frequency);
  EXPECT_EQ(refusal(
                RotaryKind::dynamic, [](RotaryParameters&) {}, 400),
            "position 400 lies past the trained length 400 (max_position_embeddings), where a rotation of rope_type "
            "dynamic depends on the length of each sequence; pass `num_triples: 0` to leave position-exact plasticity "
            "out");
}

TEST(MakeRotation, LongropeTakesItsLongFactorsPastTheOriginalLength) {
  const Rotation standard = made_rotation(parameters_of(RotaryKind::standard));
  const Rotation at_99 = made_rotation(parameters_of(RotaryKind::longrope), 99);
  const Rotation at_100 = made_rotation(parameters_of(RotaryKind::longrope), 100);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_DOUBLE_EQ(at_99.frequency[i], standard.frequency[i] / static_cast<double>(i + 1));
    EXPECT_DOUBLE_EQ(at_100.frequency[i], standard.frequency[i] / static_cast<double>(10 * (i + 1)));
  }
}

TEST(MakeRotation, LongropeScalesAttentionByItsExtension) {
  RotaryParameters parameters = parameters_of(RotaryKind::longrope);
  EXPECT_DOUBLE_EQ(made_rotation(parameters).attention_factor, std::sqrt(1 + std::log(4.0) / std::log(100.0)));
  parameters.factor = std::nullopt;
  parameters.trained_length = 1000;
  EXPECT_DOUBLE_EQ(made_rotation(parameters).attention_factor, std::sqrt(1 + std::log(10.0) / std::log(100.0)));
  parameters.trained_length = 50;
  EXPECT_EQ(made_rotation(parameters).attention_factor, 1) << "not longer than it was";
  parameters.attention_factor = 1.25;
  EXPECT_EQ(made_rotation(parameters).attention_factor, 1.25);
}

TEST(MakeRotation, YarnScalesAttentionAsItsParametersSay) {
  RotaryParameters parameters = parameters_of(RotaryKind::yarn);
  EXPECT_DOUBLE_EQ(made_rotation(parameters).attention_factor, 0.1 * std::log(4.0) + 1);
  parameters.mscale = 0.7;
  EXPECT_DOUBLE_EQ(made_rotation(parameters).attention_factor, 0.1 * std::log(4.0) + 1) << "mscale alone does nothing";
  parameters.mscale_all_dim = 0.5;
  EXPECT_DOUBLE_EQ(made_rotation(parameters).attention_factor, (0.07 * std::log(4.0) + 1) / (0.05 * std::log(4.0) + 1));
  parameters.mscale = 0;
  EXPECT_DOUBLE_EQ(made_rotation(parameters).attention_factor, 0.1 * std::log(4.0) + 1) << "0 is as good as none";
  parameters.attention_factor = 2;
  EXPECT_EQ(made_rotation(parameters).attention_factor, 2);
  parameters.attention_factor = std::nullopt;
  parameters.factor = 0.5;
  EXPECT_EQ(made_rotation(parameters).attention_factor, 1);
}

/// The pair that makes `rotations` rotations over `length` tokens, with 64 pairs.
double pair_of(double rotations, double length, double theta) {
  return 64 * std::log(length / (2 * std::numbers::pi * rotations)) / std::log(theta);
}

TEST(MakeRotation, YarnRampsBetweenWholePairsUnlessItMayNotTruncate) {
  RotaryParameters parameters = parameters_of(RotaryKind::yarn);
  parameters.theta = 150000;
  parameters.original_length = 4096;
  parameters.factor = std::nullopt;
  parameters.trained_length = 4096 * 32;
  for (const bool truncate : {true, false}) {
    parameters.truncate = truncate;
    const Rotation rotation = make_rotation(parameters, 128, RotaryLayout::half, 0);
    double low = pair_of(32, 4096, 150000);
    double high = pair_of(1, 4096, 150000);
    if (truncate) low = std::floor(low);
    if (truncate) high = std::ceil(high);
    for (std::size_t i = 0; i < 64; ++i) {
      const double standard = std::pow(150000, -static_cast<double>(i) / 64);
      const double at = (static_cast<double>(i) - low) / (high - low);
      const double share = at < 0 ? 0 : at > 1 ? 1 : at;
      EXPECT_NEAR(rotation.frequency[i] / standard, 1 - share + share / 32, 1e-13)
          << i << (truncate ? " truncated" : "");
    }
  }
}

TEST(MakeRotation, YarnsRampStaysWithinThePairs) {
  RotaryParameters parameters = parameters_of(RotaryKind::yarn);
  parameters.original_length = 3;  // less than one rotation: every pair lies past the ramp, which ends in a step at 0
  const Rotation rotation = made_rotation(parameters);
  EXPECT_DOUBLE_EQ(rotation.frequency[0], 1);
  for (std::size_t i = 1; i < 4; ++i)
    EXPECT_DOUBLE_EQ(rotation.frequency[i], std::pow(10000, -0.25 * static_cast<double>(i)) / 4);
}

TEST(MakeRotation, Llama3RampsOverTurns) {
  RotaryParameters parameters = parameters_of(RotaryKind::llama3);
  parameters.theta = 16;                                  // frequencies 1, 1/2, 1/4, 1/8
  parameters.original_length = 2 * std::numbers::pi * 8;  // 8, 4, 2, 1 rotations
  const Rotation rotation = made_rotation(parameters);
  EXPECT_DOUBLE_EQ(rotation.frequency[0], 1);
  EXPECT_DOUBLE_EQ(rotation.frequency[1], 0.5);
  EXPECT_DOUBLE_EQ(rotation.frequency[2], 0.25 * (2.0 / 3 / 4 + 1.0 / 3));
  EXPECT_DOUBLE_EQ(rotation.frequency[3], 0.125 / 4);
}

TEST(MakeRotation, FallsBackToTheTrainedLength) {
  for (const auto kind : {RotaryKind::yarn, RotaryKind::llama3, RotaryKind::longrope}) {
    RotaryParameters parameters = parameters_of(kind);
    parameters.original_length = 400;
    const Rotation said = made_rotation(parameters, 399);
    parameters.original_length = std::nullopt;
    EXPECT_EQ(made_rotation(parameters, 399).frequency, said.frequency);
    EXPECT_EQ(made_rotation(parameters, 399).attention_factor, said.attention_factor);
  }
}

TEST(MakeRotation, RefusesNumbersOutOfRange) {
  using P = RotaryParameters;
  for (const double theta : {0.0, -1.0, nan, std::numeric_limits<double>::infinity()}) {
    EXPECT_NE(refusal(RotaryKind::standard, [&](P& p) { p.theta = theta; }).find("rope_theta is "), std::string::npos);
  }
  EXPECT_EQ(refusal(RotaryKind::yarn, [](P& p) { p.theta = 1; }), "rope_theta is 1; a number above 1 is expected");
  EXPECT_EQ(refusal(RotaryKind::linear, [](P& p) { p.factor = 0; }), "factor is 0; a number above 0 is expected");
  EXPECT_EQ(refusal(RotaryKind::dynamic, [](P& p) { p.factor = -2; }), "factor is -2; a number above 0 is expected");
  EXPECT_EQ(refusal(RotaryKind::yarn, [](P& p) { p.factor = nan; }), "factor is nan; a number above 0 is expected");
  EXPECT_EQ(refusal(RotaryKind::yarn, [](P& p) { p.attention_factor = 0; }),
            "attention_factor is 0; a number above 0 is expected");
  EXPECT_EQ(refusal(RotaryKind::yarn, [](P& p) { p.beta_slow = 0; }), "beta_slow is 0; a number above 0 is expected");
  EXPECT_EQ(refusal(RotaryKind::yarn, [](P& p) { p.beta_fast = -1; }), "beta_fast is -1; a number above 0 is expected");
  EXPECT_EQ(refusal(RotaryKind::yarn, [](P& p) { p.beta_fast = 0.5; }),
            "beta_fast is 0.5; a number not below beta_slow (1) is expected");
  EXPECT_EQ(refusal(RotaryKind::yarn, [](P& p) { p.mscale = -1; }), "mscale is -1; a number not below 0 is expected");
  EXPECT_EQ(refusal(RotaryKind::yarn, [](P& p) { p.mscale_all_dim = nan; }),
            "mscale_all_dim is nan; a number not below 0 is expected");
  EXPECT_EQ(refusal(RotaryKind::llama3, [](P& p) { p.low_freq_factor = 0; }),
            "low_freq_factor is 0; a number above 0 is expected");
  EXPECT_EQ(refusal(RotaryKind::llama3, [](P& p) { p.high_freq_factor = 1; }),
            "high_freq_factor is 1; a number above low_freq_factor (1) is expected");
  EXPECT_EQ(refusal(RotaryKind::llama3, [](P& p) { p.original_length = 0; }),
            "original_max_position_embeddings is 0; a number above 0 is expected");
  EXPECT_EQ(refusal(RotaryKind::dynamic, [](P& p) { p.trained_length = -4; }),
            "max_position_embeddings is -4; a number above 0 is expected");
  EXPECT_EQ(refusal(RotaryKind::longrope, [](P& p) { p.original_length = 1; }),
            "original_max_position_embeddings is 1; a number above 1 is expected");
  EXPECT_EQ(refusal(RotaryKind::longrope, [](P& p) { p.long_factor[2] = 0; }),
            "long_factor is 0; a number above 0 is expected");
}

TEST(MakeRotation, SaysWhatIsMissing) {
  using P = RotaryParameters;
  EXPECT_EQ(refusal(RotaryKind::linear, [](P& p) { p.factor.reset(); }),
            "factor is missing; rope_type linear needs a number above 0");
  EXPECT_EQ(refusal(RotaryKind::llama3, [](P& p) { p.high_freq_factor.reset(); }),
            "high_freq_factor is missing; rope_type llama3 needs a number above 0");
  EXPECT_EQ(refusal(RotaryKind::dynamic, [](P& p) { p.trained_length.reset(); }),
            "max_position_embeddings is missing; rope_type dynamic needs a number above 0");
  EXPECT_EQ(refusal(RotaryKind::longrope, [](P& p) { p.short_factor.clear(); }),
            "short_factor is missing; rope_type longrope needs a list of numbers above 0");
  EXPECT_EQ(refusal(RotaryKind::llama3,
                    [](P& p) {
                      p.original_length.reset();
                      p.trained_length.reset();
                    }),
            "original_max_position_embeddings is missing; rope_type llama3 needs the length that the model was first "
            "trained on");
  EXPECT_EQ(refusal(RotaryKind::yarn,
                    [](P& p) {
                      p.factor.reset();
                      p.trained_length.reset();
                    }),
            "factor is missing; rope_type yarn needs it, or max_position_embeddings beside "
            "original_max_position_embeddings");
}

TEST(MakeRotation, RefusesListsThatDoNotFitTheDim) {
  EXPECT_EQ(refusal(RotaryKind::longrope, [](RotaryParameters& p) { p.long_factor.pop_back(); }),
            "long_factor has 3 numbers; one for each of the 4 rotated pairs is expected");
  EXPECT_EQ(refusal(RotaryKind::longrope, [](RotaryParameters& p) { p.short_factor.push_back(1); }),
            "short_factor has 5 numbers; one for each of the 4 rotated pairs is expected");
}

TEST(MakeRotation, RefusesDimsThatAreNoPairs) {
  for (const std::size_t dim : {0U, 1U, 7U}) {
    EXPECT_THROW(make_rotation(RotaryParameters{}, dim, RotaryLayout::half, 0), Error) << dim;
  }
}

TEST(MakeRotation, RefusesFrequenciesThatOverflow) {
  EXPECT_EQ(refusal(RotaryKind::linear, [](RotaryParameters& p) { p.factor = 1e-310; }),
            "rope_theta 10000 with these parameters gives a rotation that is not finite");
}

}  // namespace
}  // namespace attention_plasticity
