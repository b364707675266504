#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attention_plasticity {

/// The longest answer of the Hub's API that is accepted, in bytes; the Hub's own are far shorter. Parsed JSON takes
/// some twenty times the memory of its text, so that an answer of any length could fill the memory.
inline constexpr std::size_t longest_answer = std::size_t{32} << 20U;

/// A file of a repository at one commit.
struct RepoFile {
  std::string path;        ///< below the repository's root, with slashes; checked by is_inside_folder
  std::uint64_t size = 0;  ///< bytes, at most 2^53
  std::string etag;  ///< its name among the cache's blobs: the SHA-256 of a large file, Git's SHA-1 of a small one;
                     ///< 64 or 40 hexadecimal digits in lower case
  bool is_large = false;  ///< kept in the Hub's large-file storage
};

/// What the Hub says of a revision.
struct RevisionInfo {
  std::string commit;              ///< checked by is_commit
  std::vector<std::string> paths;  ///< of its files, each checked by is_inside_folder
  bool lists_all = false;          ///< `paths` is known to be all of them: very large repositories are cut short
};

/// The names that revisions go by, as others chose them: quote them in messages.
struct RepoRefs {
  std::vector<std::string> branches;
  std::vector<std::string> tags;
};

/// Whether a path from outside stays in the folder it is appended to and can be a file's: relative, no NUL, and no part
/// that is empty, `.`, `..` or longer than the 255 bytes of file systems.
bool is_inside_folder(std::string_view path);

/// A whole commit, not an abbreviation: 40 hexadecimal digits in lower case.
bool is_commit(std::string_view revision);

/// The answers of /api/datasets/NAME/revision/REVISION, of one page of .../tree/REVISION and of .../refs. Throws
/// Error(input) for a path that leaves the folder, Error(network) for anything that is not such an answer: JSON of
/// another shape, nested deeper or longer than the Hub writes it, a commit or an etag that is none.
RevisionInfo parse_revision_info(std::string_view json_text);
std::vector<RepoFile> parse_tree_page(std::string_view json_text);
RepoRefs parse_refs(std::string_view json_text);

}  // namespace attention_plasticity
