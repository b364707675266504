#include "attention_plasticity/capture/spooled_dump.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "attention_plasticity/base/atomic_file.h"
#include "attention_plasticity/base/head_rows.h"
#include "attention_plasticity/capture/work_threads.h"
#include "attention_plasticity/dump/head_file_writer.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

/// One document's rows in the files of one side of a layer.
struct DocumentRows {
  std::uint64_t document = 0;
  SampledPositions sampled;
  const SpooledLayer* layer = nullptr;
};

/// What the files of all heads of one side of a layer have in common.
struct LayerSide {
  int layer = 0;
  Side side = Side::query;
  std::size_t width = 0;
  std::optional<double> window;
  std::vector<DocumentRows> documents;
  std::size_t rows = 0;
};

LayerSide layer_side(const Spool& spool, const CaptureProgress& progress, int layer, Side side) {
  const CapturedLayer& shape = progress.model().layers[static_cast<std::size_t>(layer)];
  LayerSide files{layer, side, shape.width, shape.window, {}, 0};
  files.documents.reserve(spool.finished().size());
  for (const auto& [document, length] : spool.finished()) {
    const SpooledLayer* spooled = spool.find(document, layer);
    SampledPositions sampled = sampled_positions(progress.settings(), length, document, layer, side);
    const std::size_t rows = sampled.positions.size();
    if (spooled == nullptr || rows != (side == Side::query ? spooled->q_rows : spooled->k_rows)) {
      throw Error(ErrorKind::output, "what was captured so far does not fit; begin anew with `overwrite`");
    }
    files.documents.push_back({document, std::move(sampled), spooled});
    files.rows += rows;
  }
  require_rows(files.rows, layer);
  return files;
}

// Rows of a group: 2 MiB of vectors, and no more than that of the other columns.
std::size_t rows_of_group(std::size_t width) {
  constexpr std::size_t most_bytes = std::size_t{2} << 20U;
  return std::clamp<std::size_t>(most_bytes / (width * sizeof(float)), 64, 16384);
}

void append(HeadRows& rows, const DocumentRows& document, std::size_t first, std::size_t count) {
  const auto begin = static_cast<std::ptrdiff_t>(first);
  const auto end = static_cast<std::ptrdiff_t>(first + count);
  const SampledPositions& sampled = document.sampled;
  rows.bucket.insert(rows.bucket.end(), sampled.buckets.begin() + begin, sampled.buckets.begin() + end);
  rows.example.insert(rows.example.end(), count, document.document);
  rows.position.insert(rows.position.end(), sampled.positions.begin() + begin, sampled.positions.begin() + end);
}

// `index` is the head's place among those that were captured.
void write_head(const fs::path& folder, const Spool& spool, const LayerSide& files, int head, std::size_t index) {
  const fs::path target = folder / head_folder_name(files.side, {files.layer, head});
  make_output_folder(target, Durability::unsynced);
  const std::size_t most = rows_of_group(files.width);
  HeadFileStream stream(target / "data.parquet", {.rows_per_group = most, .split_bytes = true});
  HeadRows rows;
  rows.width = files.width;
  rows.window = files.window;
  rows.vectors.reserve(std::min(most, files.rows) * files.width);
  std::vector<float> vectors;
  const auto flush = [&] {
    if (rows.size() == 0) return;
    stream.write(rows);
    rows.bucket.clear();
    rows.example.clear();
    rows.position.clear();
    rows.vectors.clear();
  };
  for (const DocumentRows& document : files.documents) {
    const std::size_t all = document.sampled.positions.size();
    vectors.resize(all * files.width);
    spool.read(*document.layer, files.side, index, vectors);
    for (std::size_t first = 0; first < all;) {
      const std::size_t count = std::min(all - first, most - rows.size());
      append(rows, document, first, count);
      rows.vectors.insert(rows.vectors.end(), vectors.begin() + static_cast<std::ptrdiff_t>(first * files.width),
                          vectors.begin() + static_cast<std::ptrdiff_t>((first + count) * files.width));
      first += count;
      if (rows.size() == most) flush();
    }
  }
  flush();
  stream.close();
}

void count_rows(const LayerSide& files, std::size_t heads, CaptureCounts& counts) {
  for (const DocumentRows& document : files.documents) {
    for (const std::int64_t bucket : document.sampled.buckets) counts.buckets[bucket] += heads;
  }
}

}  // namespace

CaptureCounts write_spooled_heads(const fs::path& folder, const Spool& spool, const CaptureProgress& progress) {
  CaptureCounts counts;
  counts.documents = spool.finished().size();
  for (const auto& [document, length] : spool.finished()) counts.tokens += length;
  for (std::size_t layer = 0; layer < progress.heads().size(); ++layer) {
    const LayerHeads& heads = progress.heads()[layer];
    if (heads.queries.empty()) continue;
    const LayerSide queries = layer_side(spool, progress, static_cast<int>(layer), Side::query);
    const LayerSide keys = layer_side(spool, progress, static_cast<int>(layer), Side::key);
    count_rows(queries, heads.queries.size(), counts);
    count_rows(keys, heads.keys.size(), counts);
    const std::size_t of_queries = heads.queries.size();
    for_each_in_threads(of_queries + heads.keys.size(), [&](std::size_t i) {
      if (i < of_queries) write_head(folder, spool, queries, heads.queries[i], i);
      if (i >= of_queries) write_head(folder, spool, keys, heads.keys[i - of_queries], i - of_queries);
    });
  }
  return counts;
}

}  // namespace attention_plasticity
