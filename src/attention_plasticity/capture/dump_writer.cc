#include "attention_plasticity/capture/dump_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "attention_plasticity/base/atomic_file.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/capture/capture_manifest.h"
#include "attention_plasticity/capture/spooled_dump.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

void check_name(const std::string& name) {
  const bool own = name == "capture.json" || name == "config.json" || name == "_saver_state.json";
  const bool usable = !own && !name.empty() && !name.starts_with('.') && name.find('/') == std::string::npos;
  if (usable) return;
  throw Error(ErrorKind::usage, fmt::format("a dump cannot have an additional file {}", quoted_text(name)));
}

void require_documents(const CaptureSettings& settings, const Spool& spool) {
  if (spool.finished().empty()) throw Error(ErrorKind::input, "no document was captured");
  std::vector<std::size_t> lengths;
  lengths.reserve(spool.finished().size());
  for (const auto& [document, length] : spool.finished()) lengths.push_back(length);
  require_two_buckets(settings, lengths);
}

}  // namespace

DumpWriter::DumpWriter(const fs::path& folder, const CaptureSettings& settings, CapturedModel model,
                       const std::string& texts_digest)
    : manifest_(capture_manifest(settings, model, texts_digest)),
      progress_(settings, std::move(model)),
      folder_(folder, manifest_, settings.overwrite) {
  if (!folder_.is_complete()) spool_.emplace(folder_.spool());
}

Spool& DumpWriter::spool() {
  if (!spool_) throw Error(ErrorKind::usage, "the capture has ended", folder_.dump().string());
  return *spool_;
}

std::vector<std::uint64_t> DumpWriter::finished() const {
  std::vector<std::uint64_t> documents;
  if (!spool_) return documents;
  documents.reserve(spool_->finished().size());
  for (const auto& [document, length] : spool_->finished()) documents.push_back(document);
  return documents;
}

void DumpWriter::begin_document(std::uint64_t document, std::size_t length) {
  if (spool().finished().contains(document)) {
    throw Error(ErrorKind::usage, fmt::format("document {} was captured already", document));
  }
  progress_.begin(document, length);
}

void DumpWriter::add(std::uint64_t document, int layer, const TensorView& queries, const TensorView& keys) {
  progress_.check(document, layer, queries, keys);
  spool().add(document, layer, queries, keys);
  progress_.added(document, layer);
}

void DumpWriter::end_document(std::uint64_t document) {
  const std::size_t length = progress_.end(document);
  spool().end(document, length);
}

fs::path DumpWriter::finish(const std::map<std::string, std::string>& files) {
  for (const auto& [name, text] : files) check_name(name);
  if (folder_.is_complete()) {
    for (const auto& [name, text] : files) {
      std::error_code ignored;
      if (!fs::exists(folder_.dump() / name, ignored)) write_file_atomically(folder_.dump() / name, text);
    }
    return folder_.dump();
  }
  const Spool& vectors = spool();
  require_documents(progress_.settings(), vectors);
  const fs::path target = folder_.empty_new_dump();
  const CaptureCounts counts = write_spooled_heads(target, vectors, progress_);
  const auto write = [&](const std::string& name, const std::string& text) {
    write_file_atomically(target / name, text, Durability::unsynced);  // all are flushed together
  };
  for (const auto& [name, text] : files) write(name, text);
  if (!progress_.model().config.empty()) write("config.json", progress_.model().config);
  write("_saver_state.json", capture_saver_state(progress_.settings(), progress_.model(), counts));
  write("capture.json", capture_json(manifest_, counts));
  spool_.reset();
  folder_.publish();
  return folder_.dump();
}

void DumpWriter::discard() {
  spool_.reset();
  if (!folder_.is_complete()) folder_.discard();
}

}  // namespace attention_plasticity
