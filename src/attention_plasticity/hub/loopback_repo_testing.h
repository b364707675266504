#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace attention_plasticity {

/// The name of a file among a cache's blobs: the SHA-256 of a large file, Git's SHA-1 of a small one.
std::string file_etag(std::string_view content, bool large);

/// For tests: a file of LoopbackHub.
struct LoopbackFile {
  std::string content;
  bool large = false;
  std::string etag;
  std::string git_oid;           ///< Git's SHA-1 of the file, of a large one that of the pointer Git keeps
  std::size_t pointer_size = 0;  ///< bytes of that pointer
};

/// The files of one commit, by path.
struct LoopbackSnapshot {
  std::string commit;
  std::map<std::string, std::shared_ptr<const LoopbackFile>> files;
};

struct HubRepoOptions {
  bool is_private = false;
  bool gated = false;     ///< everybody sees the listing, the files need the token
  bool disabled = false;  ///< nobody gets anything
  std::string token;      ///< opens a private or gated repository
  std::size_t page_size = 1000;
  bool lists_siblings = true;
};

/// A page of a listing, as JSON.
struct LoopbackTreePage {
  std::string json;
  std::size_t next = 0;     ///< where the next page begins; 0: there is none
  bool has_folder = false;  ///< the folder that was asked for is there
};

/// The files and folders of a snapshot below `folder`, by path, `limit` of them from the one numbered `first`.
LoopbackTreePage tree_page(const LoopbackSnapshot& snapshot, const std::string& folder, bool recursive,
                           std::size_t first, std::size_t limit);

/// For tests: a repository of LoopbackHub. Not for several threads at once.
class LoopbackRepo {
 public:
  using Snapshot = std::shared_ptr<const LoopbackSnapshot>;

  void set_options(HubRepoOptions options) { options_ = std::move(options); }
  const HubRepoOptions& options() const { return options_; }

  /// Adds or replaces a file; returns it as it is kept.
  std::shared_ptr<const LoopbackFile> add_file(const std::string& branch, const std::string& path, std::string content,
                                               bool large);
  void add_tag(const std::string& tag, const std::string& branch);

  /// The files of a branch, a tag or a commit that was found before; null when there is none. The commit depends on
  /// the files alone, so that it moves when they change.
  Snapshot find(const std::string& revision);

  /// What the Hub says of a snapshot, and of branches and tags, as JSON.
  std::string info(const std::string& name, const LoopbackSnapshot& snapshot) const;
  std::string refs();

 private:
  struct Branch {
    LoopbackSnapshot files;
    Snapshot head;  // null after a change, until somebody asks
  };
  Snapshot head(Branch& branch);

  HubRepoOptions options_;
  std::map<std::string, Branch> branches_;
  std::map<std::string, Snapshot> tags_;
  std::map<std::string, Snapshot> commits_;
};

}  // namespace attention_plasticity
