#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attention_plasticity/capture/capture_folder.h"
#include "attention_plasticity/capture/capture_progress.h"
#include "attention_plasticity/capture/spool.h"

namespace attention_plasticity {

/// Writes a dump from queries and keys that come document by document and layer by layer, from any source.
///
///     DumpWriter writer(folder, settings, model, digest_of_the_texts);
///     for each document that is not in writer.finished():
///       writer.begin_document(document, tokens);
///       for each layer with writer.heads(layer):
///         writer.add(document, layer, queries and keys at writer.positions(document, layer));
///       writer.end_document(document);
///     writer.finish();
///
/// Vectors go to one file beside the dump (capture/spool.h), so that memory does not grow with documents, heads or
/// rows. The dump appears whole, by one rename, and is the same to the byte however often the capture was interrupted
/// and in whatever order documents came. Not to be used by two threads at once. Members throw Error: usage for a call
/// that does not fit, output when files cannot be written, input for numbers that are not finite.
class DumpWriter {
 public:
  /// Goes on with an unfinished capture of the same settings, model and texts. Throws as chosen_heads and CaptureFolder
  /// do. `texts_digest` tells texts apart, with everything that decides their tokens.
  DumpWriter(const std::filesystem::path& folder, const CaptureSettings& settings, CapturedModel model,
             const std::string& texts_digest);

  /// True: the dump was there already, and there is nothing to do.
  bool is_complete() const { return folder_.is_complete(); }
  /// The documents that need not be handed over again, ascending.
  std::vector<std::uint64_t> finished() const;
  const CaptureProgress& progress() const { return progress_; }
  const LayerHeads& heads(int layer) const { return progress_.heads(layer); }
  void begin_document(std::uint64_t document, std::size_t length);
  LayerPositions positions(std::uint64_t document, int layer) const { return progress_.positions(document, layer); }
  /// The vectors of the layer's heads at the document's positions.
  void add(std::uint64_t document, int layer, const TensorView& queries, const TensorView& keys);
  /// From here on the document need not be handed over again, whatever ends the process.
  void end_document(std::uint64_t document);

  /// Writes the dump, with `files` (texts by name, such as head_labels.csv) in it, and gives its folder. Throws
  /// Error(input) when a head has no rows or no document reaches beyond the first bucket. Of a complete dump, only
  /// files that it does not have are written.
  std::filesystem::path finish(const std::map<std::string, std::string>& files = {});
  /// Forgets an unfinished capture.
  void discard();

 private:
  Spool& spool();

  std::string manifest_;
  CaptureProgress progress_;
  CaptureFolder folder_;
  std::optional<Spool> spool_;  // none: complete, finished or discarded
};

}  // namespace attention_plasticity
