#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "attention_plasticity/capture/captured_model.h"

namespace attention_plasticity {

/// What decides the content of a dump, as JSON text on one line: settings, model and texts. Captures with the same text
/// are captures of the same.
std::string capture_manifest(const CaptureSettings& settings, const CapturedModel& model,
                             const std::string& texts_digest);

/// What a finished capture has counted.
struct CaptureCounts {
  std::size_t documents = 0;
  std::uint64_t tokens = 0;                       ///< of all documents
  std::map<std::int64_t, std::uint64_t> buckets;  ///< rows of all files by bucket
};

/// The text of the dump's `capture.json`.
std::string capture_json(const std::string& manifest, const CaptureCounts& counts);

/// The manifest in a capture.json; none when the text holds none.
std::optional<std::string> manifest_in(std::string_view capture_json);

/// How two manifests differ, for people: "`bucket_size` 128 there and 256 here, other texts".
std::string manifest_differences(const std::string& there, const std::string& here);

/// The text of the dump's `_saver_state.json`, in the form of the public capture tool.
std::string capture_saver_state(const CaptureSettings& settings, const CapturedModel& model,
                                const CaptureCounts& counts);

}  // namespace attention_plasticity
