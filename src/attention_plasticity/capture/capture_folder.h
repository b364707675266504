#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "attention_plasticity/base/folder_lock.h"

// Where a capture works until its dump is whole. For the dump `a/b` this is the hidden folder
// `a/.b.attention-plasticity-capture`, on the same disk, with
//
//   capture.json   the manifest: what is captured (capture/capture_manifest.h)
//   spool          the vectors of the documents so far (capture/spool.h)
//   dump           the dump, while it is written
//
// `dump` gets its final name by one rename, and then the hidden folder is removed. A capture that ends before leaves
// the hidden folder, and the next one with the same manifest goes on with it.

namespace attention_plasticity {

/// The folders of one capture, which one process has at a time. Members throw Error(output).
class CaptureFolder {
 public:
  /// Throws when the dump's folder holds something else than a dump, or the dump or the unfinished capture there is one
  /// of another manifest and `overwrite` is false.
  CaptureFolder(const std::filesystem::path& dump, const std::string& manifest, bool overwrite);

  /// The folder of the dump, without links.
  const std::filesystem::path& dump() const { return dump_; }
  /// True: the dump is there, with this manifest.
  bool is_complete() const { return complete_; }
  std::filesystem::path spool() const { return hidden_ / "spool"; }
  /// An empty folder to write the dump into.
  std::filesystem::path empty_new_dump() const;
  /// Gives the new dump its name, in place of an old one, and removes the hidden folder.
  void publish();
  /// Removes the hidden folder.
  void discard();

 private:
  void look_at_dump(const std::string& manifest, bool overwrite);
  void open_hidden(const std::string& manifest, bool overwrite);
  void clear_hidden() const;
  void replace_dump();

  std::filesystem::path dump_;
  std::filesystem::path hidden_;
  bool complete_ = false;
  std::optional<FolderLock> lock_;
};

}  // namespace attention_plasticity
