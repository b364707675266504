#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attention_plasticity/base/head_number.h"
#include "attention_plasticity/dump/dump_files.h"
#include "attention_plasticity/store/store_address.h"

namespace attention_plasticity {

/// `l00h00q` or `l00h00k`; numbers above 99 have more digits.
std::string head_folder_name(Side side, HeadNumber head);

/// The heads of a dump and their files: a folder that holds `l00h00q/data.parquet`, `l00h00k/data.parquet`, ...
///
/// A head is captured if its folder's name matches `l(\d\d+)h(\d\d+)[qk]`, with numbers up to 9999, and the folder has
/// an entry `data.parquet`, readable or not. All other entries are ignored; `warnings` names those that look like
/// heads.
struct DumpLayout {
  std::filesystem::path folder;       ///< holds the head folders
  std::optional<std::string> note;    ///< one line for the user, if the heads were found in another folder than asked
  std::vector<std::string> warnings;  ///< a line about entries that look like heads and are left out
  std::set<HeadNumber> queries;       ///< captured query heads
  std::set<HeadNumber> keys;          ///< captured key heads
  /// Folders whose names have more digits than `head_folder_name` writes. A head that has the usual folder too is not
  /// in here.
  std::map<std::pair<Side, HeadNumber>, std::string> unusual_names;

  /// Opens the files. Null if they are on disk.
  std::shared_ptr<const DumpFiles> store;
  const DumpFiles& files() const { return store ? *store : disk_files(); }

  /// The path of the head's `data.parquet`, whether it was captured or not.
  std::filesystem::path file(Side side, HeadNumber head) const;
};

/// Looks for heads in `root`, or in `root/model_dir` if `model_dir` is not empty. If `root/model_dir` does not exist
/// but the root itself holds heads, the root is used and `note` says so.
///
/// Throws Error(input) when the folder does not exist, is not a folder or cannot be listed, and when it holds no heads;
/// the message then names the sub-folders that do.
DumpLayout find_heads(const std::filesystem::path& root, const std::string& model_dir);

/// Finds the heads of a dump whose files are listed and need not be on disk yet: `paths`, with slashes, are relative to
/// `root`.
DumpLayout find_heads_among(std::span<const std::string> paths, const std::filesystem::path& root,
                            const std::string& model_dir);

/// Finds the heads of a dump in an object store. Throws Error as Store does, too.
DumpLayout find_heads_in_store(const StoreAddress& address, const std::string& model_dir);

}  // namespace attention_plasticity
