#include "attention_plasticity/source/head_memory.h"

#include <algorithm>
#include <limits>

#include "attention_plasticity/rotation/row_sample.h"

namespace attention_plasticity {
namespace {

// Groups of the jackknife, and the whole.
constexpr std::uint64_t most_groups = 21;
// Vectors that grow by doubling, tables and small things.
constexpr std::uint64_t fixed_bytes = std::uint64_t{2} << 20;
// Directions that are projected together in position-exact plasticity.
constexpr std::uint64_t triples_at_once = 256;

// Values that are derived of a row, in bytes: its place in its bucket, its example and its group, and for queries the
// columns of the statistics. Lists that grow count twice.
constexpr std::uint64_t derived_of_query = 176;
constexpr std::uint64_t derived_of_key = 128;
constexpr std::uint64_t exact_of_query = 32;
constexpr std::uint64_t exact_of_key = 96;

constexpr std::uint64_t of_row(std::uint64_t width) { return width * sizeof(float) + 24; }

// A sum or product beyond 2^63 is more than any limit.
constexpr std::uint64_t beyond = std::numeric_limits<std::int64_t>::max();
std::uint64_t times(std::uint64_t a, std::uint64_t b) { return b > 0 && a > beyond / b ? beyond : a * b; }
std::uint64_t plus(std::uint64_t a, std::uint64_t b) { return a > beyond - std::min(b, beyond) ? beyond : a + b; }

std::uint64_t kept_rows(std::uint64_t rows, const AnalysisOptions& options) {
  return std::min<std::uint64_t>(rows, options.max_tokens_per_head.value_or(rows));
}

// `rows` and `bytes` before the rows are chosen.
RowBytes chosen(std::uint64_t rows, std::uint64_t width, std::uint64_t bytes, const AnalysisOptions& options) {
  const std::uint64_t kept = kept_rows(rows, options);
  if (kept == rows) return {bytes, bytes};
  const std::uint64_t copies = times(kept, of_row(width));
  return {plus(bytes, plus(copies, 8 * (rows + kept))), copies};
}

}  // namespace

RowBytes row_bytes(const HeadFileSize& file, const AnalysisOptions& options) {
  // Rows without an example get one each.
  RowBytes bytes = chosen(file.rows, file.width, file.row_bytes + 8 * file.rows, options);
  // The rotation is checked on two copies of a sample of the rows.
  const std::uint64_t sampled = std::min<std::uint64_t>(file.rows, RowSample::most_rows);
  const std::uint64_t samples = times(2 * sizeof(double) * sampled, file.width);
  bytes.read = std::max({bytes.read, file.read_bytes, plus(file.row_bytes, samples)});
  return bytes;
}

std::uint64_t analysis_bytes(std::size_t queries, std::size_t keys, std::size_t width, const AnalysisOptions& options,
                             bool has_rotation) {
  const std::uint64_t n = kept_rows(queries, options);
  const std::uint64_t m = kept_rows(keys, options);
  const std::uint64_t d = width;
  const bool is_exact = has_rotation && options.num_triples > 0;
  const std::uint64_t coded = std::min<std::uint64_t>(d, options.normality_max_dims) + 1;
  const std::uint64_t directions =
      std::max<std::uint64_t>(options.num_pairs_per_bucket, is_exact ? triples_at_once : 0);

  std::uint64_t bytes = plus(fixed_bytes, times(n, derived_of_query + 2 * coded) + times(m, derived_of_key));
  // Lines, means and the like of each group, and the directions along which queries are projected.
  bytes = plus(bytes, times(80 * most_groups, d));
  bytes = plus(bytes, times(3 * sizeof(double) * directions, d + most_groups));
  if (is_exact || options.method != Method::diagonal) {
    // A scatter matrix of each group, or its rows where they are fewer.
    const std::uint64_t matrix = times(sizeof(double) * (d + 8), d);
    bytes = plus(bytes, plus(matrix, std::min(times(most_groups, matrix), times(16 * n, d))));
  }
  if (is_exact) {
    bytes = plus(bytes, times(n, exact_of_query) + times(m, exact_of_key));
    bytes = plus(bytes, times(options.num_triples, 48) + times(12 * options.empirical_queries, d));
  }
  return bytes;
}

TaskBytes task_bytes(const RowBytes& queries, const RowBytes& keys, std::uint64_t analysis, std::uint64_t most_result) {
  return {std::max(queries.read, plus(queries.kept, plus(analysis, most_result))), keys.kept, keys.read};
}

MemoryShares::MemoryShares(std::uint64_t memory_limit, std::size_t heads, std::uint64_t beside)
    : limit(memory_limit), most_of_head(memory_limit - beside), most_of_result(most_of_head) {
  if (heads <= 1) return;
  // Usual results take less. They are kept whatever the limit.
  constexpr std::uint64_t least = std::uint64_t{64} << 10;
  const std::uint64_t set_aside = memory_limit / 4;
  most_of_head -= set_aside;
  most_of_result = std::max(least, set_aside / heads);
}

std::uint64_t MemoryShares::most_result(const TaskBytes& bytes) const {
  return std::min(most_of_result, most_of_head - std::min(most_of_head, bytes.with_keys()));
}

}  // namespace attention_plasticity
