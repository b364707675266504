#include "attention_plasticity/analyze_head.h"

#include <utility>

#include "attention_plasticity/analysis/head_analysis.h"
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

}  // namespace

PreparedKeys::PreparedKeys(const RowsView& keys, const AnalysisOptions& options) {
  check(options);
  oriented_ = std::make_unique<const OrientedKeys>(orient_keys(checked_rows(keys, "keys"), options));
}

PreparedKeys::PreparedKeys(PreparedKeys&&) noexcept = default;
PreparedKeys& PreparedKeys::operator=(PreparedKeys&&) noexcept = default;
PreparedKeys::~PreparedKeys() = default;

HeadResult analyze_head(const HeadId& head, const RowsView& queries, const PreparedKeys& keys,
                        const AnalysisOptions& options, const Rotation* rotation) {
  check(options);
  return measure_head(head, checked_rows(queries, "queries"), keys.oriented(), options, {.rotation = rotation}).result;
}

HeadResult analyze_head(const HeadId& head, const RowsView& queries, const RowsView& keys,
                        const AnalysisOptions& options, const Rotation* rotation) {
  return analyze_head(head, queries, PreparedKeys(keys, options), options, rotation);
}

}  // namespace attention_plasticity
