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
  std::string path;        ///< relative to the repository's root, with slashes; is_inside_folder holds
  std::uint64_t size = 0;  ///< bytes, at most 2^53
  std::string etag;        ///< its name in the cache: the SHA-256 of a large file, Git's SHA-1 of a small one; 64 or 40
                           ///< hexadecimal digits in lower case
  bool is_large = false;   ///< kept in the Hub's large-file storage
};

/// The Hub's answer about a revision.
struct RevisionInfo {
  std::string commit;              ///< is_commit holds
  std::vector<std::string> paths;  ///< the files; is_inside_folder holds for each
  bool lists_all = false;  ///< whether `paths` is complete: the Hub shortens the list of very large repositories
};

/// The names of branches and tags. They may hold any characters: quote them in messages.
struct RepoRefs {
  std::vector<std::string> branches;
  std::vector<std::string> tags;
};

/// Whether a path from the network names a file inside the folder that it is appended to: it is relative, holds no NUL,
/// and no part of it is empty, `.`, `..` or longer than 255 bytes, the limit of file systems.
bool is_inside_folder(std::string_view path);

/// Whether this is a full commit, not an abbreviation: 40 hexadecimal digits in lower case.
bool is_commit(std::string_view revision);

/// Parse the answers of /api/datasets/NAME/revision/REVISION, of one page of .../tree/REVISION and of .../refs. Throw
/// Error(input) for a path that leaves the folder, and Error(network) for any other answer: text that is not JSON, is
/// nested too deeply or too long, lacks a field, or has a commit or etag of another form.
RevisionInfo parse_revision_info(std::string_view json_text);
std::vector<RepoFile> parse_tree_page(std::string_view json_text);
RepoRefs parse_refs(std::string_view json_text);

}  // namespace attention_plasticity
