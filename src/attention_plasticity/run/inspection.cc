#include "attention_plasticity/run/inspection.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_set>

#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/source/file_source.h"
#include "attention_plasticity/source/read_ahead.h"
#include "attention_plasticity/source/run_rotation.h"
#include "attention_plasticity/store/store_address.h"

namespace attention_plasticity {
namespace {

template <typename T>
std::size_t distinct(const std::vector<T>& values) {
  return std::unordered_set<T>(values.begin(), values.end()).size();
}

FileInspection inspect_file(const DumpLayout& layout, Side side, HeadNumber head) {
  FileInspection found;
  found.side = side;
  found.head = head;
  const std::filesystem::path file = layout.file(side, head);
  const DumpFiles& files = layout.files();
  if (const std::optional<FileIdentity> listed = files.listed(file)) {
    found.bytes = listed->bytes;
  } else {
    std::error_code unknown;
    const std::uintmax_t bytes = std::filesystem::file_size(file, unknown);
    if (!unknown) found.bytes = bytes;
  }
  try {
    const HeadTokens rows = read_head_tokens(files.open(file), side);
    found.rows = rows.position.size();
    found.width = rows.width;
    found.buckets = distinct(rows.bucket);
    found.first_bucket = std::ranges::min(rows.bucket);
    found.last_bucket = std::ranges::max(rows.bucket);
    found.first_position = std::ranges::min(rows.position);
    found.last_position = std::ranges::max(rows.position);
    if (!rows.example.empty()) found.examples = distinct(rows.example);
    found.window = rows.window;
    found.has_checksums = has_page_checksums(files.open(file));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    found.error = error.what();
  } catch (const std::bad_alloc&) {
    found.error = "not enough memory to read this file";
  }
  return found;
}

std::optional<DumpRotation> in_dump(const std::filesystem::path& root, const DumpLayout& layout) {
  return stated_rotation({}, root, layout, [&] { return FileSource(layout, {}).largest_position({}); });
}

// A rotation that cannot be used is an error only when the dump is analysed. Here it is a note.
void add_rotation(DumpInspection& dump, const std::filesystem::path& root) {
  std::map<int, std::size_t> width_of_layer;
  for (const FileInspection& file : dump.files) {
    if (file.width > 0) width_of_layer[file.head.layer] = file.width;
  }
  try {
    const std::optional<DumpRotation> rotation = in_dump(root, dump.layout);
    if (rotation) dump.rotation = layers_by_rotation(*rotation, width_of_layer);
  } catch (const Error& error) {
    dump.notes.push_back(fmt::format("{}{}{}", error.file(), error.file().empty() ? "" : ": ", error.what()));
  }
}

}  // namespace

std::optional<RotationInspection> inspect_rotation(const std::filesystem::path& root, const DumpInspection& dump) {
  std::vector<HeadSide> heads;
  for (const FileInspection& file : dump.files) {
    if (!file.error) heads.push_back({file.side, file.head});
  }
  const RotationRows rows = [&](const HeadSide& head, const auto& use) {
    const DumpFiles& files = dump.layout.files();
    const std::filesystem::path path = dump.layout.file(head.side, head.head);
    const std::shared_ptr<void> released(nullptr, [&](void*) { files.release(path); });
    const HeadFile content = read_head_file(files.open(path), head.side, ReadOptions{});
    use(content.rows);
  };
  RotationOfLayer configured;
  try {
    if (const std::optional<DumpRotation> rotation = in_dump(root, dump.layout)) {
      configured = [rotation = *rotation](int layer, std::size_t width) {
        return std::optional(rotation.layer(layer, width).rotation);
      };
    }
  } catch (const Error&) {
    configured = {};  // inspect_dump has noted it
  }
  std::optional<ObservedRotation> observed = observe_rotation(heads, rows, configured);
  if (!observed) return std::nullopt;
  InferredRotation inferred = decide_rotation(*observed);
  return RotationInspection{std::move(*observed), std::move(inferred)};
}

DumpInspection inspect_dump(const std::filesystem::path& root, const std::string& model_dir) {
  DumpInspection dump;
  dump.layout = is_store_address(root.string()) ? find_heads_in_store(StoreAddress(root.string()), model_dir)
                                                : find_heads(root, model_dir);
  if (dump.layout.note) dump.notes.push_back(*dump.layout.note);
  for (const std::string& warning : dump.layout.warnings) dump.notes.push_back("warning: " + warning);
  dump.capture = read_capture_metadata(dump.layout.folder, dump.notes, dump.layout.files());
  dump.model = find_model_shape(root, dump.layout.folder, dump.notes, dump.layout.files());
  std::map<std::filesystem::path, HeadNumber> heads;
  for (const HeadNumber& head : dump.layout.queries) heads[dump.layout.file(Side::query, head)] = head;
  for (const HeadNumber& head : dump.layout.keys) heads[dump.layout.file(Side::key, head)] = head;
  for_each_file(dump.layout.files(), files_of(dump.layout), HeadPart::tokens, [&](const ReadAhead::File& file) {
    dump.files.push_back(inspect_file(dump.layout, file.side, heads.at(file.path)));
  });
  add_rotation(dump, root);
  return dump;
}

}  // namespace attention_plasticity
