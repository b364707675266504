#include "attention_plasticity/capture/llama/llama_capture.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace attention_plasticity {
namespace {

// The documents that are read at once, and what is wanted of them.
struct Pack {
  std::vector<std::uint64_t> documents;
  std::vector<std::span<const std::int32_t>> texts;
  std::map<int, WantedRows> wanted;
  /// For each layer how many queries and keys each document has.
  std::map<int, std::vector<std::pair<std::size_t, std::size_t>>> rows;
};

// A part of the capture that takes rows: DumpWriter or CapturedRows.
struct Taker {
  std::function<void(std::uint64_t, std::size_t)> begin;
  std::function<LayerPositions(std::uint64_t, int)> positions;
  std::function<void(std::uint64_t, int, const TensorView&, const TensorView&)> add;
  std::function<void(std::uint64_t)> end;
};

void append_tokens(std::vector<int>& tokens, const std::vector<std::int64_t>& positions, std::size_t offset) {
  for (const std::int64_t position : positions) tokens.push_back(static_cast<int>(position) + static_cast<int>(offset));
}

Pack packed(const LlamaSource& source, std::span<const std::uint64_t> documents, const std::map<int, LayerHeads>& heads,
            const Taker& taker) {
  Pack pack;
  std::size_t offset = 0;
  for (const std::uint64_t document : documents) {
    const std::vector<std::int32_t>& ids = source.documents()[document];
    taker.begin(document, ids.size());
    pack.documents.push_back(document);
    pack.texts.emplace_back(ids);
    for (const auto& [layer, chosen] : heads) {
      const LayerPositions positions = taker.positions(document, layer);
      WantedRows& wanted = pack.wanted[layer];
      wanted.q_heads = chosen.queries;
      wanted.k_heads = chosen.keys;
      append_tokens(wanted.q_tokens, positions.queries.positions, offset);
      append_tokens(wanted.k_tokens, positions.keys.positions, offset);
      pack.rows[layer].emplace_back(positions.queries.positions.size(), positions.keys.positions.size());
    }
    offset += ids.size();
  }
  return pack;
}

void hand_over(const Pack& pack, int layer, const TakenRows& rows, const Taker& taker) {
  const WantedRows& wanted = pack.wanted.at(layer);
  std::size_t query = 0;
  std::size_t key = 0;
  for (std::size_t i = 0; i < pack.documents.size(); ++i) {
    const auto [queries, keys] = pack.rows.at(layer)[i];
    taker.add(pack.documents[i], layer, tokens_of(rows.queries, wanted.q_heads.size(), rows.width, query, queries),
              tokens_of(rows.keys, wanted.k_heads.size(), rows.width, key, keys));
    query += queries;
    key += keys;
  }
}

// Before hours of reading: whether the rows of the texts with the most tokens that are read at once fit into memory.
void check_row_memory(const LlamaSource& source, const std::vector<std::uint64_t>& pending,
                      const std::map<int, LayerHeads>& heads, const CaptureSettings& settings) {
  std::span<const std::uint64_t> largest;
  std::size_t most = 0;
  for (std::size_t first = 0; first < pending.size(); first += source.batch_size()) {
    const auto now = std::span(pending).subspan(first, std::min(source.batch_size(), pending.size() - first));
    std::size_t tokens = 0;
    for (const std::uint64_t document : now) tokens += source.documents()[document].size();
    if (tokens > most) largest = now;
    most = std::max(most, tokens);
  }
  const Taker taker{[](std::uint64_t, std::size_t) {},
                    [&](std::uint64_t document, int layer) -> LayerPositions {
                      const std::size_t length = source.documents()[document].size();
                      return {sampled_positions(settings, length, document, layer, Side::query),
                              sampled_positions(settings, length, document, layer, Side::key)};
                    },
                    {},
                    {}};
  source.check_memory(packed(source, largest, heads, taker).wanted);
}

bool capture_pending(LlamaSource& source, const std::vector<std::uint64_t>& pending, const CaptureProgress& progress,
                     const Taker& taker, const CaptureObserver& observer, const std::stop_token& stop) {
  std::map<int, LayerHeads> heads;
  for (std::size_t layer = 0; layer < progress.heads().size(); ++layer) {
    if (!progress.heads()[layer].queries.empty()) heads[static_cast<int>(layer)] = progress.heads()[layer];
  }
  CapturedSoFar so_far;
  so_far.all_documents = source.documents().size();
  so_far.documents = so_far.all_documents - pending.size();
  for (const std::uint64_t document : pending) so_far.tokens_left += source.documents()[document].size();
  check_row_memory(source, pending, heads, progress.settings());
  for (std::size_t first = 0; first < pending.size(); first += source.batch_size()) {
    const std::size_t count = std::min(source.batch_size(), pending.size() - first);
    const Pack pack = packed(source, std::span(pending).subspan(first, count), heads, taker);
    const auto deliver = [&](int layer, const TakenRows& rows) { hand_over(pack, layer, rows, taker); };
    if (!source.read(pack.texts, pack.wanted, deliver, stop)) return false;
    for (const std::uint64_t document : pack.documents) {
      taker.end(document);
      so_far.tokens += source.documents()[document].size();
      so_far.tokens_left -= source.documents()[document].size();
    }
    so_far.documents += count;
    observer(so_far);
  }
  return true;
}

}  // namespace

bool capture_documents(LlamaSource& source, DumpWriter& writer, const CaptureObserver& observer,
                       const std::stop_token& stop) {
  const std::vector<std::uint64_t> finished = writer.finished();
  std::vector<std::uint64_t> pending;
  for (std::uint64_t document = 0; document < source.documents().size(); ++document) {
    if (!std::ranges::binary_search(finished, document)) pending.push_back(document);
  }
  const Taker taker{[&](std::uint64_t document, std::size_t length) { writer.begin_document(document, length); },
                    [&](std::uint64_t document, int layer) { return writer.positions(document, layer); },
                    [&](std::uint64_t document, int layer, const TensorView& queries, const TensorView& keys) {
                      writer.add(document, layer, queries, keys);
                    },
                    [&](std::uint64_t document) { writer.end_document(document); }};
  return capture_pending(source, pending, writer.progress(), taker, observer, stop);
}

bool capture_documents(LlamaSource& source, CapturedRows& rows, const CaptureObserver& observer,
                       const std::stop_token& stop) {
  std::vector<std::uint64_t> pending(source.documents().size());
  std::iota(pending.begin(), pending.end(), std::uint64_t{0});
  const Taker taker{[&](std::uint64_t document, std::size_t length) { rows.begin_document(document, length); },
                    [&](std::uint64_t document, int layer) { return rows.progress().positions(document, layer); },
                    [&](std::uint64_t document, int layer, const TensorView& queries, const TensorView& keys) {
                      rows.add(document, layer, queries, keys);
                    },
                    [&](std::uint64_t document) { rows.end_document(document); }};
  return capture_pending(source, pending, rows.progress(), taker, observer, stop);
}

std::size_t label_documents(const LlamaSource& source) {
  const auto long_enough = [](const std::vector<std::int32_t>& ids) {
    return ids.size() >= AttentionLabels::document_tokens;
  };
  const auto count = static_cast<std::size_t>(std::ranges::count_if(source.documents(), long_enough));
  return std::min(count, AttentionLabels::most_documents);
}

std::optional<AttentionLabels> label_heads(LlamaSource& source,
                                           const std::function<void(std::size_t, std::size_t)>& step,
                                           const std::stop_token& stop) {
  std::vector<std::pair<int, int>> heads;
  for (const AttentionLayer& layer : source.layers()) heads.emplace_back(layer.q_heads, layer.k_heads);
  AttentionLabels labels(heads);
  std::vector<std::vector<std::int32_t>> texts;
  for (const std::vector<std::int64_t>& ids :
       AttentionLabels::sequences(source.model().ordinary_ids(), source.model().first_id())) {
    texts.emplace_back(ids.begin(), ids.end());
  }
  const std::size_t repeated = texts.size();
  for (const std::vector<std::int32_t>& ids : source.documents()) {
    if (texts.size() == repeated + label_documents(source)) break;
    if (ids.size() < AttentionLabels::document_tokens) continue;
    texts.emplace_back(ids.begin(), ids.begin() + AttentionLabels::document_tokens);
  }
  const auto numbers = [](std::size_t count) {
    std::vector<int> all(count);
    std::iota(all.begin(), all.end(), 0);
    return all;
  };
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::map<int, WantedRows> wanted;
    for (std::size_t layer = 0; layer < source.layers().size(); ++layer) {
      const AttentionLayer& shape = source.layers()[layer];
      if (shape.q_heads == 0) continue;
      wanted[static_cast<int>(layer)] = {numbers(static_cast<std::size_t>(shape.q_heads)),
                                         numbers(static_cast<std::size_t>(shape.k_heads)), numbers(texts[i].size()),
                                         numbers(texts[i].size())};
    }
    const auto deliver = [&](int layer, const TakenRows& rows) {
      const AttentionLayer& shape = source.layers()[static_cast<std::size_t>(layer)];
      const TensorView queries =
          tokens_of(rows.queries, static_cast<std::size_t>(shape.q_heads), rows.width, 0, texts[i].size());
      const TensorView keys =
          tokens_of(rows.keys, static_cast<std::size_t>(shape.k_heads), rows.width, 0, texts[i].size());
      if (i < repeated) {
        labels.add_repeated(layer, queries, keys, shape.rule());
      } else {
        labels.add_document(layer, queries, keys, shape.rule());
      }
    };
    const std::vector<std::span<const std::int32_t>> one{texts[i]};
    if (!source.read(one, std::move(wanted), deliver, stop)) return std::nullopt;
    step(i + 1, texts.size());
  }
  return labels;
}

}  // namespace attention_plasticity
