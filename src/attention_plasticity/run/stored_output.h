#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attention_plasticity/store/store.h"

namespace attention_plasticity {

/// Results that go to an object store. A store has no rename and no lock, and Arrow puts without conditions. A run
/// therefore writes to a folder on disk, with all that it promises there, and `put` brings the files to the store:
/// tables under names that no other run uses, with the beginning of their SHA-256 at the end, and run.json last, in one
/// piece. A reader who goes by run.json sees the old results or the new ones. Of two runs that write at once, the later
/// run.json counts.
class StoredOutput {
 public:
  /// `folder`: where the files are written first, and where measured heads are kept. Throws Error as Store does.
  StoredOutput(const StoreAddress& address, std::filesystem::path folder);

  /// Makes the folder, and brings these files of the store to it, so that earlier results are noticed. Removes those
  /// that the store does not have.
  void make_folder(const std::vector<std::string>& files = {"run.json"}) const;

  const std::filesystem::path& folder() const { return folder_; }
  const Store& store() const { return store_; }
  /// The run.json of the store, if there is one.
  std::optional<std::string> run_json() const;
  /// Display address of a file of the folder, or the path of a file that lies elsewhere. Names of tables contain `*` in
  /// place of the part that is known only after writing.
  std::string shown(const std::filesystem::path& file) const;
  /// Returns true if a table that the store's run.json names is there. Its name holds its digest, so it is not read.
  bool holds(const std::string& table, const std::string& sha256) const;
  /// Puts files of the folder; the last one is run.json or the like, and names the others. Returns their addresses.
  /// Files that lie elsewhere stay there. Throws Error(output) when one could not be put; nothing is replaced then, and
  /// the tables that were put are removed. Removes the tables of the run that was replaced.
  std::vector<std::string> put(const std::vector<std::string>& files) const;
  /// Removes the folder on disk.
  void forget() const;

 private:
  std::string name_in_store(const std::filesystem::path& file, const std::string& run) const;
  static std::vector<std::string> tables_of(const std::string& run_json);
  void remove_tables(const std::vector<std::string>& names) const;

  Store store_;
  std::filesystem::path folder_;
};

}  // namespace attention_plasticity
