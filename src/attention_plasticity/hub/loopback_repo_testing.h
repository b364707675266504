#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace attention_plasticity {

/// The etag of a file: the SHA-256 of a large file, Git's SHA-1 of a small one.
std::string file_etag(std::string_view content, bool large);

/// For tests: a file of LoopbackHub.
struct LoopbackFile {
  std::string content;
  bool large = false;
  std::string etag;
  std::string git_oid;           ///< Git's SHA-1 of the file; for a large file, of its pointer file
  std::size_t pointer_size = 0;  ///< bytes of the pointer file
};

/// The files of one commit, by path.
struct LoopbackSnapshot {
  std::string commit;
  std::map<std::string, std::shared_ptr<const LoopbackFile>> files;
};

struct HubRepoOptions {
  bool is_private = false;
  bool gated = false;     ///< the listing is public, the files need the token
  bool disabled = false;  ///< every request is refused
  std::string token;      ///< opens a private or gated repository
  std::size_t page_size = 1000;
  bool lists_siblings = true;
};

/// A page of a listing, as JSON.
struct LoopbackTreePage {
  std::string json;
  std::size_t next = 0;     ///< number of the first entry of the next page; 0: this is the last page
  bool has_folder = false;  ///< whether the requested folder exists
};

/// The files and folders below `folder`, sorted by path: at most `limit` entries from number `first` on.
LoopbackTreePage tree_page(const LoopbackSnapshot& snapshot, const std::string& folder, bool recursive,
                           std::size_t first, std::size_t limit);

/// For tests: a repository of LoopbackHub. Not thread-safe.
class LoopbackRepo {
 public:
  using Snapshot = std::shared_ptr<const LoopbackSnapshot>;

  void set_options(HubRepoOptions options) { options_ = std::move(options); }
  const HubRepoOptions& options() const { return options_; }

  /// Adds or replaces a file, and returns it.
  std::shared_ptr<const LoopbackFile> add_file(const std::string& branch, const std::string& path, std::string content,
                                               bool large);
  void add_tag(const std::string& tag, const std::string& branch);

  /// The files of a branch, a tag or a commit that was found before; null when it does not exist. The commit is
  /// computed from the files, so that it changes with them.
  Snapshot find(const std::string& revision);

  /// The Hub's answers about a snapshot, and about branches and tags, as JSON.
  std::string info(const std::string& name, const LoopbackSnapshot& snapshot) const;
  std::string refs();

 private:
  struct Branch {
    LoopbackSnapshot files;
    Snapshot head;  // null after a change; computed when it is needed
  };
  Snapshot head(Branch& branch);

  HubRepoOptions options_;
  std::map<std::string, Branch> branches_;
  std::map<std::string, Snapshot> tags_;
  std::map<std::string, Snapshot> commits_;
};

}  // namespace attention_plasticity
