#include "attention_plasticity/capture/attention_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention_plasticity/base/widen.h"
#include "attention_plasticity/capture/attention_kernel.h"
#include "attention_plasticity/capture/work_threads.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/random/numpy_generator.h"
#include "attention_plasticity/results/csv.h"

namespace attention_plasticity {
namespace {

using Labels = AttentionLabels;
enum Column { induction, duplicate, previous_token, self, first_token, entropy, mean_distance, outside };
using Sums = std::array<double, label_columns.size()>;

// exp of it is 0.
constexpr double no_sink = -std::numeric_limits<double>::infinity();

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorKind::usage, message); }

std::size_t panels_of(std::size_t keys) { return (keys + keys_at_once - 1) / keys_at_once; }

/// The vectors of one head as doubles times `scale`, row after row.
std::vector<double> doubles_of(const TensorView& tensor, std::size_t head, double scale) {
  std::vector<std::byte> scratch(head_bytes(tensor));
  std::vector<float> narrow(tensor.tokens() * tensor.width());
  widen_elements(head_vectors(tensor, head, scratch), tensor.type, narrow);
  std::vector<double> wide(narrow.size());
  widen(narrow, wide);
  for (double& value : wide) value *= scale;
  return wide;
}

/// The keys of one head in panels (LogitBlock). Those past the last token are 0.
std::vector<double> key_panels(const TensorView& keys, std::size_t head) {
  const std::vector<double> rows = doubles_of(keys, head, 1);
  const std::size_t width = keys.width();
  std::vector<double> panels(panels_of(keys.tokens()) * keys_at_once * width);
  for (std::size_t j = 0; j < keys.tokens(); ++j) {
    double* out = panels.data() + j / keys_at_once * keys_at_once * width + j % keys_at_once;
    for (std::size_t c = 0; c < width; ++c) out[c * keys_at_once] = rows[j * width + c];
  }
  return panels;
}

/// The weights of one query.
struct QueryWeights {
  std::size_t query = 0;            // i
  std::size_t first = 0;            // the first key that it sees
  std::span<const double> weights;  // of the keys from there to i; not yet divided by `total`
  double total = 0;
  WeightSums sums;

  // A[i, j]; 0 where the key is not seen.
  double at(std::size_t j) const { return j < first ? 0 : weights[j - first] / total; }
};

/// Calls visit(QueryWeights) for the queries of a head from `begin` on, in order. `sink` is a logit without a key.
template <class Visit>
void for_each_query(const std::vector<double>& queries, const std::vector<double>& keys, std::size_t width,
                    std::size_t begin, const AttentionRule& rule, double sink, const Visit& visit) {
  const std::size_t tokens = queries.size() / width;
  const std::size_t stride = panels_of(tokens) * keys_at_once;
  const auto first_key = [&](std::size_t i) { return rule.window && i >= *rule.window ? i + 1 - *rule.window : 0; };
  std::vector<double> block(queries_at_once * width);
  std::vector<double> logits(queries_at_once * stride);
  for (std::size_t i = begin; i < tokens; i += queries_at_once) {
    const std::size_t count = std::min(queries_at_once, tokens - i);
    std::ranges::fill(block, 0.0);
    std::copy_n(queries.begin() + static_cast<std::ptrdiff_t>(i * width), count * width, block.begin());
    const std::size_t first_panel = first_key(i) / keys_at_once;
    const std::size_t first = first_panel * keys_at_once;
    logits_of_block({block.data(), keys.data(), width, first_panel, panels_of(i + count)}, logits.data(), stride);
    for (std::size_t r = 0; r < count; ++r) {
      const std::size_t begin_key = first_key(i + r);
      const std::span<double> row(logits.data() + r * stride + (begin_key - first), i + r + 1 - begin_key);
      const WeightedRow weighed = weigh_logits(row, rule.softcap, sink);
      const double total = weighed.sums.weight + std::exp(sink - weighed.top);
      visit(QueryWeights{i + r, begin_key, row, total, weighed.sums});
    }
  }
}

void add_copies(const QueryWeights& query, Sums& sums) {
  sums[induction] += query.at(query.query - (Labels::repeated_tokens - 1));
  sums[duplicate] += query.at(query.query - Labels::repeated_tokens);
}

double outside_weight(const QueryWeights& query) {
  const std::size_t end = query.query - Labels::outside_distance + 1;  // behind the last key that is far enough
  double weight = 0;
  for (std::size_t j = std::max(query.first, Labels::outside_sinks); j < end; ++j) {
    weight += query.weights[j - query.first];
  }
  return weight / query.total;
}

void add_roles(const QueryWeights& query, Sums& sums) {
  const double seen = query.sums.weight / query.total;  // below 1 where a sink takes weight
  const double mean_key = query.sums.weighted_key / query.total;
  sums[previous_token] += query.at(query.query - 1);
  sums[self] += query.at(query.query);
  sums[first_token] += query.at(0);
  // ln A = x - top - ln total
  sums[entropy] += seen * std::log(query.total) - query.sums.weighted_log / query.total;
  sums[mean_distance] += seen * static_cast<double>(query.query - query.first) - mean_key;
  sums[outside] += outside_weight(query);
}

/// Adds visit's sums for each query head. A thread has one head at a time, and never more than a few rows of its
/// logits.
template <class Visit>
void add_heads(const TensorView& queries, const TensorView& keys, const AttentionRule& rule, std::size_t begin,
               std::vector<Sums>& sums, const Visit& visit) {
  const std::size_t group = queries.heads() / keys.heads();
  for_each_in_threads(queries.heads(), [&](std::size_t head) {
    const double sink = rule.sinks.empty() ? no_sink : static_cast<double>(rule.sinks[head]);
    const std::vector<double> rows = doubles_of(queries, head, rule.scale);
    const std::vector<double> panels = key_panels(keys, head / group);
    for_each_query(rows, panels, queries.width(), begin, rule, sink,
                   [&](const QueryWeights& query) { visit(query, sums[head]); });
  });
}

}  // namespace

AttentionLabels::AttentionLabels(const std::vector<std::pair<int, int>>& layers) {
  layers_.reserve(layers.size());
  for (const auto& [q_heads, k_heads] : layers) {
    if (q_heads < 0 || (q_heads > 0 && (k_heads < 1 || q_heads % k_heads != 0))) {
      refuse(fmt::format("layer {} has {} query heads and {} key heads; the first should be a multiple of the second",
                         layers_.size(), q_heads, k_heads));
    }
    layers_.push_back({q_heads, k_heads, 0, 0, std::vector<Sums>(static_cast<std::size_t>(q_heads), Sums{})});
  }
}

std::vector<std::vector<std::int64_t>> AttentionLabels::sequences(std::span<const std::int64_t> ordinary_ids,
                                                                  std::optional<std::int64_t> bos) {
  if (ordinary_ids.empty()) throw Error(ErrorKind::input, "the vocabulary has no tokens but special ones");
  NumpyGenerator generator(0);
  std::vector<std::vector<std::int64_t>> all(repeated_sequences);
  for (std::vector<std::int64_t>& ids : all) {
    std::vector<std::int64_t> once(repeated_tokens);
    for (std::int64_t& id : once) id = ordinary_ids[generator.integers(ordinary_ids.size())];
    if (bos) ids.push_back(*bos);
    ids.insert(ids.end(), once.begin(), once.end());
    ids.insert(ids.end(), once.begin(), once.end());
  }
  return all;
}

AttentionLabels::Layer& AttentionLabels::checked_layer(int layer, const TensorView& queries, const TensorView& keys,
                                                       const AttentionRule& rule) {
  if (layer < 0 || static_cast<std::size_t>(layer) >= layers_.size()) {
    refuse(fmt::format("there is no layer {}: the model has {}, from 0 on", layer, layers_.size()));
  }
  Layer& state = layers_[static_cast<std::size_t>(layer)];
  const bool fits = state.q_heads > 0 && queries.heads() == static_cast<std::size_t>(state.q_heads) &&
                    keys.heads() == static_cast<std::size_t>(state.k_heads) && queries.tokens() == keys.tokens() &&
                    queries.width() == keys.width() && queries.width() > 0;
  if (!fits) {
    refuse(fmt::format("layer {} has {} query heads and {} key heads; its queries are {}, its keys {}", layer,
                       state.q_heads, state.k_heads, shape_text(queries), shape_text(keys)));
  }
  const bool rule_fits = std::isfinite(rule.scale) && rule.softcap >= 0 && std::isfinite(rule.softcap) &&
                         (!rule.window || *rule.window > 0) &&
                         (rule.sinks.empty() || rule.sinks.size() == queries.heads());
  if (!rule_fits) refuse(fmt::format("layer {}: scale, softcap, sinks or window are impossible", layer));
  for (const TensorView* tensor : {&queries, &keys}) {
    std::vector<std::byte> scratch(head_bytes(*tensor));
    for (std::size_t head = 0; head < tensor->heads(); ++head) {
      if (all_elements_finite(head_vectors(*tensor, head, scratch), tensor->type)) continue;
      throw Error(ErrorKind::input, fmt::format("layer {}: queries or keys hold a number that is not finite", layer));
    }
  }
  return state;
}

void AttentionLabels::add_repeated(int layer, const TensorView& queries, const TensorView& keys,
                                   const AttentionRule& rule) {
  Layer& state = checked_layer(layer, queries, keys, rule);
  const std::size_t tokens = queries.tokens();
  if (tokens != 2 * repeated_tokens && tokens != 2 * repeated_tokens + 1) {
    refuse(fmt::format("a repeated sequence has {} tokens, or one more; not {}", 2 * repeated_tokens, tokens));
  }
  if (state.sequences == repeated_sequences) refuse(fmt::format("layer {} has all its repeated sequences", layer));
  add_heads(queries, keys, rule, tokens - repeated_tokens + 1, state.sums, add_copies);
  ++state.sequences;
}

void AttentionLabels::add_document(int layer, const TensorView& queries, const TensorView& keys,
                                   const AttentionRule& rule) {
  Layer& state = checked_layer(layer, queries, keys, rule);
  if (queries.tokens() != document_tokens) {
    refuse(fmt::format("a document is cut to {} tokens; this one has {}", document_tokens, queries.tokens()));
  }
  if (state.documents == most_documents) refuse(fmt::format("layer {} has all its documents", layer));
  add_heads(queries, keys, rule, skipped_queries, state.sums, add_roles);
  ++state.documents;
}

std::vector<std::pair<int, int>> AttentionLabels::heads() const {
  std::vector<std::pair<int, int>> heads;
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    for (int head = 0; head < layers_[layer].q_heads; ++head) heads.emplace_back(static_cast<int>(layer), head);
  }
  return heads;
}

std::vector<double> AttentionLabels::values(std::size_t column) const {
  const bool of_copies = column == induction || column == duplicate;
  std::vector<double> values;
  for (const Layer& layer : layers_) {
    const bool enough = of_copies ? layer.sequences > 0 : layer.documents >= least_documents;
    const std::size_t queries =
        of_copies ? layer.sequences * (repeated_tokens - 1) : layer.documents * (document_tokens - skipped_queries);
    for (const Sums& sums : layer.sums) {
      values.push_back(enough ? sums.at(column) / static_cast<double>(queries)
                              : std::numeric_limits<double>::quiet_NaN());
    }
  }
  return values;
}

std::string AttentionLabels::csv() const {
  std::vector<std::string_view> names{"layer", "q_head"};
  std::vector<std::vector<double>> columns;
  columns.reserve(label_columns.size());
  for (std::size_t column = 0; column < label_columns.size(); ++column) {
    names.push_back(label_columns.at(column).name);
    columns.push_back(values(column));
  }
  CsvText text(names);
  const std::vector<std::pair<int, int>> all = heads();
  for (std::size_t row = 0; row < all.size(); ++row) {
    text.add(std::int64_t{all[row].first});
    text.add(std::int64_t{all[row].second});
    for (const std::vector<double>& column : columns) text.add(column[row]);
    text.end_row();
  }
  return std::move(text).text();
}

}  // namespace attention_plasticity
