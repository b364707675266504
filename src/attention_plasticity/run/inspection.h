#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attention_plasticity/dump/capture_metadata.h"
#include "attention_plasticity/dump/layout.h"
#include "attention_plasticity/run/rotation_source.h"

namespace attention_plasticity {

/// What one file of a dump holds, its vectors unread.
struct FileInspection {
  Side side = Side::query;
  HeadKey head;
  std::uint64_t bytes = 0;
  std::optional<std::string> error;  ///< why it cannot be read; nothing below is known then
  std::size_t rows = 0;
  std::size_t width = 0;
  std::size_t buckets = 0;  ///< different ones
  std::int64_t first_bucket = 0;
  std::int64_t last_bucket = 0;
  double first_position = 0;
  double last_position = 0;
  std::optional<std::size_t> examples;  ///< different ones; none: the file does not name them
  std::optional<double> window;
};

struct DumpInspection {
  DumpLayout layout;
  CaptureMetadata capture;
  ModelShape model;
  std::vector<LayersTurningAlike> rotation;  ///< as the dump's config.json has it; empty: not known
  std::vector<FileInspection> files;         ///< queries, then keys, by (layer, head)
  std::vector<std::string> notes;
};

/// Looks at every head of a dump. Throws Error(input) when there is none.
DumpInspection inspect_dump(const std::filesystem::path& root, const std::string& model_dir);

}  // namespace attention_plasticity
