#include "attention_plasticity/analyze_head.h"

#include <fmt/core.h>

#include <cmath>
#include <string_view>
#include <utility>

#include "attention_plasticity/analysis/head_analysis.h"
#include "attention_plasticity/base/finite.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

void check(const AnalysisOptions& options) {
  const auto require = [](bool holds, const char* message) {
    if (!holds) throw Error(ErrorKind::usage, message);
  };
  require(!options.max_tokens_per_head || *options.max_tokens_per_head >= 1,
          "`max_tokens_per_head`: should be at least 1");
  require(options.p_alpha > 0 && options.p_alpha < 1, "`p_alpha`: should lie between 0 and 1 (exclusive)");
  require(options.num_pairs_per_bucket >= 1, "`num_pairs_per_bucket`: should be at least 1");
  require(options.max_relative_distance > 0 && options.max_relative_distance <= 1,
          "`max_relative_distance`: should be greater than 0 and at most 1");
}

// Borrows the rows, after a look at every value.
KeptRows checked(const RowsView& rows, std::string_view what) {
  check_columns(rows, what);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto require = [&](bool holds, const char* problem) {
      if (!holds) throw Error(ErrorKind::input, fmt::format("row {} of the {}: {}", i, what, problem));
    };
    require(rows.position[i] >= 0 && std::isfinite(rows.position[i]), "the position is negative or not finite");
    require(rows.bucket[i] >= 0, "the bucket is negative");
    require(rows.example.empty() || rows.example[i] < first_own_query_example, "the example is 2^63 or more");
    require(all_finite(rows.row(i)), "the vector has a NaN or an infinity in it");
  }
  if (rows.window && !(*rows.window >= 0)) {
    throw Error(ErrorKind::input, fmt::format("the sliding window of the {} is negative or not a number", what));
  }
  return KeptRows(rows);
}

}  // namespace

PreparedKeys::PreparedKeys(const RowsView& keys, const AnalysisOptions& options) {
  check(options);
  oriented_ = std::make_unique<const OrientedKeys>(orient_keys(checked(keys, "keys"), options));
}

PreparedKeys::PreparedKeys(PreparedKeys&&) noexcept = default;
PreparedKeys& PreparedKeys::operator=(PreparedKeys&&) noexcept = default;
PreparedKeys::~PreparedKeys() = default;

HeadResult analyze_head(const HeadId& head, const RowsView& queries, const PreparedKeys& keys,
                        const AnalysisOptions& options, const Rotation* rotation) {
  check(options);
  return measure_head(head, checked(queries, "queries"), keys.oriented(), options, {.rotation = rotation}).result;
}

HeadResult analyze_head(const HeadId& head, const RowsView& queries, const RowsView& keys,
                        const AnalysisOptions& options, const Rotation* rotation) {
  return analyze_head(head, queries, PreparedKeys(keys, options), options, rotation);
}

}  // namespace attention_plasticity
