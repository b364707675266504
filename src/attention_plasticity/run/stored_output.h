#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attention_plasticity/store/store.h"

namespace attention_plasticity {

/// Results that go to an object store. A store has no rename and no lock, and Arrow puts without conditions. A run
/// therefore writes to a folder on disk, with all that it promises there, and `put` brings the files to the store:
/// tables under names that hold the beginning of their SHA-256, so that they never replace those of another run, and
/// run.json last, in one piece. A reader who goes by run.json sees the old results or the new ones.
class StoredOutput {
 public:
  /// `folder`: where the files are written first, and where measured heads are kept. Throws Error as Store does.
  StoredOutput(const StoreAddress& address, std::filesystem::path folder);

  /// Makes the folder, and brings these files of the store to it, so that earlier results are noticed. Those that the
  /// store has not are removed there.
  void make_folder(const std::vector<std::string>& files = {"run.json"}) const;

  const std::filesystem::path& folder() const { return folder_; }
  const Store& store() const { return store_; }
  /// The run.json of the store; none: there is none.
  std::optional<std::string> run_json() const;
  /// The address of a file of the folder, for people; a file that lies elsewhere stays there. Of a table, `*` stands
  /// for the part that is known only when it is written.
  std::string shown(const std::filesystem::path& file) const;
  /// Whether a table is there that the store's run.json names. Its name holds its digest, so that it is not read.
  bool holds(const std::string& table, const std::string& sha256) const;
  /// Puts files of the folder; the last one is run.json or the like, and names the others. Returns their addresses.
  /// Files that lie elsewhere stay there. Throws Error(output) when one could not be put; nothing is replaced then.
  std::vector<std::string> put(const std::vector<std::string>& files) const;
  /// Removes the folder on disk.
  void forget() const;

 private:
  std::string name_in_store(const std::filesystem::path& file) const;
  void remove_tables_of(const std::string& earlier, const std::vector<std::string>& kept) const;

  Store store_;
  std::filesystem::path folder_;
};

}  // namespace attention_plasticity
