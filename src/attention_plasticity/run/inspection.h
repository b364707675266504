#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attention_plasticity/dump/capture_metadata.h"
#include "attention_plasticity/dump/layout.h"
#include "attention_plasticity/rotation/inference.h"

namespace attention_plasticity {

/// What one file of a dump holds. Its vectors are not read.
struct FileInspection {
  Side side = Side::query;
  HeadNumber head;
  std::uint64_t bytes = 0;
  std::optional<std::string> error;  ///< why it cannot be read; if set, nothing below is known
  std::size_t rows = 0;
  std::size_t width = 0;
  std::size_t buckets = 0;  ///< distinct buckets
  std::int64_t first_bucket = 0;
  std::int64_t last_bucket = 0;
  double first_position = 0;
  double last_position = 0;
  std::optional<std::size_t> examples;  ///< distinct examples; none: the file has no example_id
  std::optional<double> window;         ///< sliding window in tokens; none: full attention
  bool has_checksums = true;            ///< of its pages, so that damage is found
};

struct DumpInspection {
  DumpLayout layout;
  CaptureMetadata capture;
  ModelShape model;
  std::vector<LayersOfRotation> rotation;  ///< from the dump's config.json; empty: unknown
  std::vector<FileInspection> files;       ///< queries, then keys, by (layer, head)
  std::vector<std::string> notes;
};

/// The rotation that a dump's vectors show.
struct RotationInspection {
  ObservedRotation observed;  ///< `configured` is the rotation of the dump's config.json; NaN if that describes none
  InferredRotation inferred;  ///< the rotation that a run without config.json takes
};

/// Reads vectors of some heads of each layer. None when no file could be read.
std::optional<RotationInspection> inspect_rotation(const std::filesystem::path& root, const DumpInspection& dump);

/// Reads the files of every head of a dump. Throws Error(input) when there are no heads.
DumpInspection inspect_dump(const std::filesystem::path& root, const std::string& model_dir);

}  // namespace attention_plasticity
