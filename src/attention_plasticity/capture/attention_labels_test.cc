#include "attention_plasticity/capture/attention_labels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <random>

#include "attention_plasticity/base/refusal_testing.h"
#include "places.h"

namespace attention_plasticity {
namespace {

/// Full queries or keys of a sequence.
struct Heads {
  std::size_t heads = 1;
  std::size_t tokens = 0;
  std::size_t width = 0;
  std::vector<float> values = std::vector<float>(heads * tokens * width);

  float& at(std::size_t head, std::size_t token, std::size_t component) {
    return values[(head * tokens + token) * width + component];
  }
  TensorView view() const {
    const auto n = static_cast<std::int64_t>(tokens);
    const auto d = static_cast<std::int64_t>(width);
    return {values.data(), ElementType::float32, {heads, tokens, width}, {n * d, d, 1}};
  }
};

Heads random_heads(std::size_t heads, std::size_t tokens, std::size_t width, unsigned seed) {
  Heads result{heads, tokens, width};
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 1);
  for (float& x : result.values) x = normal(random);
  return result;
}

std::map<std::string, double> labels_of(const AttentionLabels& labels, std::size_t head) {
  std::map<std::string, double> values;
  for (std::size_t column = 0; column < label_columns.size(); ++column) {
    values[std::string(label_columns.at(column).name)] = labels.values(column).at(head);
  }
  return values;
}

/// The definition, term by term: the whole matrix of weights of a head.
std::vector<std::vector<double>> naive_weights(Heads queries, Heads keys, std::size_t head, const AttentionRule& rule) {
  std::vector<std::vector<double>> weights(queries.tokens, std::vector<double>(queries.tokens));
  const std::size_t group = queries.heads / keys.heads;
  for (std::size_t i = 0; i < queries.tokens; ++i) {
    double total = rule.sinks.empty() ? 0 : std::exp(static_cast<double>(rule.sinks[head]));
    for (std::size_t j = 0; j <= i; ++j) {
      if (rule.window && i - j >= *rule.window) continue;
      double logit = 0;
      for (std::size_t c = 0; c < queries.width; ++c) {
        logit += static_cast<double>(queries.at(head, i, c)) * static_cast<double>(keys.at(head / group, j, c));
      }
      logit *= rule.scale;
      if (rule.softcap > 0) logit = rule.softcap * std::tanh(logit / rule.softcap);
      weights[i][j] = std::exp(logit);
      total += weights[i][j];
    }
    for (double& weight : weights[i]) weight /= total;
  }
  return weights;
}

void add_naive_copies(const std::vector<std::vector<double>>& a, std::map<std::string, double>& sums) {
  const std::size_t before = a.size() - 384;
  for (std::size_t i = before + 193; i < before + 384; ++i) {
    sums["induction"] += a[i][i - 191] / (191 * 2);
    sums["duplicate"] += a[i][i - 192] / (191 * 2);
  }
}

void add_naive_roles(const std::vector<std::vector<double>>& a, std::map<std::string, double>& sums) {
  const double share = 1.0 / (2 * 704);
  for (std::size_t i = 64; i < a.size(); ++i) {
    sums["previous_token"] += share * a[i][i - 1];
    sums["self"] += share * a[i][i];
    sums["first_token"] += share * a[i][0];
    for (std::size_t j = 0; j <= i; ++j) {
      if (a[i][j] > 0) sums["entropy"] -= share * a[i][j] * std::log(a[i][j]);
      sums["mean_distance"] += share * a[i][j] * static_cast<double>(i - j);
      if (i - j >= 64 && j >= 4) sums["outside"] += share * a[i][j];
    }
  }
}

TEST(AttentionLabels, AreThoseOfTheDefinition) {
  const std::vector<float> sinks{0.5F, -1, 3, 0};
  const std::vector<AttentionRule> rules{
      {0.4, 0, {}, std::nullopt}, {0.4, 2.5, {}, std::nullopt}, {0.4, 0, sinks, std::nullopt},
      {0.4, 0, {}, 100},          {0.4, 2.5, sinks, 65},        {0.4, 0, {}, 1},
      {0.4, 0, sinks, 1000},
  };
  for (const AttentionRule& rule : rules) {
    AttentionLabels labels({{0, 0}, {4, 2}});
    std::vector<std::map<std::string, double>> expected(4);
    for (const unsigned sequence : {0U, 1U}) {
      // One sequence with a token before it and one without.
      const Heads copies = random_heads(4, 384 + sequence, 6, 10 + sequence);
      const Heads copied_keys = random_heads(2, 384 + sequence, 6, 20 + sequence);
      const Heads queries = random_heads(4, 768, 6, 30 + sequence);
      const Heads keys = random_heads(2, 768, 6, 40 + sequence);
      labels.add_repeated(1, copies.view(), copied_keys.view(), rule);
      labels.add_document(1, queries.view(), keys.view(), rule);
      for (std::size_t head = 0; head < 4; ++head) {
        add_naive_copies(naive_weights(copies, copied_keys, head, rule), expected[head]);
        add_naive_roles(naive_weights(queries, keys, head, rule), expected[head]);
      }
    }
    for (std::size_t head = 0; head < 4; ++head) {
      for (const auto& [name, value] : labels_of(labels, head)) {
        EXPECT_NEAR(value, expected[head][name], 1e-11 * (1 + std::abs(value)))
            << name << " of head " << head << ", window " << rule.window.value_or(0) << ", softcap " << rule.softcap;
      }
    }
  }
}

TEST(AttentionLabels, OfEqualKeysHaveClosedForms) {
  AttentionLabels labels({{1, 1}});
  const Heads zeros{1, 768, 2};
  labels.add_document(0, zeros.view(), zeros.view(), {});
  labels.add_document(0, zeros.view(), zeros.view(), {});
  double mean_inverse = 0;
  double entropy = 0;
  double distance = 0;
  double outside = 0;
  for (int i = 64; i < 768; ++i) {
    mean_inverse += 1.0 / (i + 1) / 704;
    entropy += std::log(i + 1) / 704;
    distance += i / 2.0 / 704;
    outside += std::max(0, i - 64 - 3) / (i + 1.0) / 704;
  }
  const std::map<std::string, double> values = labels_of(labels, 0);
  for (const char* name : {"previous_token", "self", "first_token"}) EXPECT_NEAR(values.at(name), mean_inverse, 1e-14);
  EXPECT_NEAR(values.at("entropy"), entropy, 1e-12);
  EXPECT_NEAR(values.at("mean_distance"), distance, 1e-10);
  EXPECT_NEAR(values.at("outside"), outside, 1e-12);
}

// Queries that point at one key each: of the token before, or of the token after the earlier copy.
TEST(AttentionLabels, OfHeadsThatSeeOneTokenAreOne) {
  AttentionLabels labels({{2, 1}});
  const auto pointing = [](std::size_t tokens, std::size_t back) {
    Heads queries{1, tokens, tokens};
    for (std::size_t i = back; i < tokens; ++i) queries.at(0, i, i - back) = 100;
    return queries;
  };
  const auto both = [&](std::size_t tokens, std::size_t first, std::size_t second) {
    Heads queries{2, tokens, tokens};
    queries.values = pointing(tokens, first).values;
    const std::vector<float> more = pointing(tokens, second).values;
    queries.values.insert(queries.values.end(), more.begin(), more.end());
    return queries;
  };
  Heads identity{1, 385, 385};
  for (std::size_t i = 0; i < 385; ++i) identity.at(0, i, i) = 1;
  labels.add_repeated(0, both(385, 191, 192).view(), identity.view(), {});
  Heads large{1, 768, 768};
  for (std::size_t i = 0; i < 768; ++i) large.at(0, i, i) = 1;
  for (int document = 0; document < 2; ++document) {
    labels.add_document(0, both(768, 1, 0).view(), large.view(), {});
  }
  const std::map<std::string, double> first = labels_of(labels, 0);
  const std::map<std::string, double> second = labels_of(labels, 1);
  EXPECT_NEAR(first.at("induction"), 1, 1e-12);
  EXPECT_NEAR(first.at("duplicate"), 0, 1e-12);
  EXPECT_NEAR(second.at("duplicate"), 1, 1e-12);
  EXPECT_NEAR(first.at("previous_token"), 1, 1e-12);
  EXPECT_NEAR(first.at("mean_distance"), 1, 1e-12);
  EXPECT_NEAR(second.at("self"), 1, 1e-12);
  EXPECT_NEAR(second.at("entropy"), 0, 1e-12);
  EXPECT_NEAR(second.at("outside"), 0, 1e-12);
}

TEST(AttentionLabels, NeedTwoDocuments) {
  AttentionLabels labels({{1, 1}});
  const Heads zeros{1, 768, 2};
  EXPECT_TRUE(std::isnan(labels_of(labels, 0).at("induction")));
  labels.add_document(0, zeros.view(), zeros.view(), {});
  EXPECT_TRUE(std::isnan(labels_of(labels, 0).at("entropy")));
  EXPECT_EQ(labels.csv(),
            "layer,q_head,induction,duplicate,previous_token,self,first_token,entropy,mean_distance,outside\n"
            "0,0,,,,,,,,\n");
}

// numpy.random.default_rng(0).integers(49135, size=(4, 192)) + 17
TEST(AttentionLabels, PickTheTokensThatNumpyPicks) {
  std::vector<std::int64_t> ids(49135);
  std::iota(ids.begin(), ids.end(), 17);
  const std::vector<std::vector<std::int64_t>> sequences = AttentionLabels::sequences(ids, 1);
  ASSERT_EQ(sequences.size(), 4U);
  for (const std::vector<std::int64_t>& sequence : sequences) {
    ASSERT_EQ(sequence.size(), 385U);
    EXPECT_EQ(sequence[0], 1);
    EXPECT_TRUE(std::equal(sequence.begin() + 1, sequence.begin() + 193, sequence.begin() + 193));
  }
  const auto part = [&](std::size_t sequence, std::ptrdiff_t begin) {
    const auto first = sequences[sequence].begin() + 1 + begin;
    return std::vector<std::int64_t>(first, first + 4);
  };
  EXPECT_EQ(part(0, 0), (std::vector<std::int64_t>{41812, 31314, 25131, 13272}));
  EXPECT_EQ(part(1, 0), (std::vector<std::int64_t>{17721, 7326, 25413, 47807}));
  EXPECT_EQ(part(3, 188), (std::vector<std::int64_t>{18799, 46450, 6661, 8004}));
  EXPECT_EQ(AttentionLabels::sequences(ids, std::nullopt)[2].size(), 384U);
  EXPECT_EQ(refusal([] { AttentionLabels::sequences({}, 0); }), "input: the vocabulary has no tokens but special ones");
}

TEST(AttentionLabels, AreDescribedInTheDocs) {
  std::ifstream file(source_folder() / "docs/formats.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  std::string table = "| column | meaning |\n|---|---|\n";
  for (const auto& [name, meaning] : label_columns) {
    table += "| `" + std::string(name) + "` | " + std::string(meaning) + " |\n";
  }
  EXPECT_NE(page.find(table + "\n"), std::string::npos) << table;
}

TEST(AttentionLabels, RefuseWhatDoesNotFit) {
  EXPECT_EQ(refusal([] { AttentionLabels({{1, 1}, {4, 3}}); }),
            "usage: layer 1 has 4 query heads and 3 key heads; the first should be a multiple of the second");
  AttentionLabels labels({{2, 1}, {0, 0}});
  const Heads queries{2, 768, 2};
  Heads keys{1, 768, 2};
  const auto add = [&](int layer, const AttentionRule& rule) {
    return refusal([&] { labels.add_document(layer, queries.view(), keys.view(), rule); });
  };
  EXPECT_EQ(add(2, {}), "usage: there is no layer 2: the model has 2, from 0 on");
  EXPECT_EQ(add(1, {}),
            "usage: layer 1 has 0 query heads and 0 key heads; its queries are 2 x 768 x 2, its keys 1 x 768 x 2");
  const std::vector<float> sinks{1};
  for (const AttentionRule& rule :
       {AttentionRule{1, -1, {}, std::nullopt}, AttentionRule{1, 0, sinks, std::nullopt}, AttentionRule{1, 0, {}, 0},
        AttentionRule{std::numeric_limits<double>::infinity(), 0, {}, std::nullopt}}) {
    EXPECT_EQ(add(0, rule), "usage: layer 0: scale, softcap, sinks or window are impossible");
  }
  EXPECT_EQ(refusal([&] { labels.add_repeated(0, queries.view(), keys.view(), {}); }),
            "usage: a repeated sequence has 384 tokens, or one more; not 768");
  const Heads short_queries{2, 767, 2};
  const Heads short_keys{1, 767, 2};
  EXPECT_EQ(refusal([&] { labels.add_document(0, short_queries.view(), short_keys.view(), {}); }),
            "usage: a document is cut to 768 tokens; this one has 767");
  for (int document = 0; document < 8; ++document) EXPECT_EQ(add(0, {}), "nothing");
  EXPECT_EQ(add(0, {}), "usage: layer 0 has all its documents");
  keys.at(0, 5, 1) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(add(0, {}), "input: layer 0: queries or keys hold a number that is not finite");
}

}  // namespace
}  // namespace attention_plasticity
