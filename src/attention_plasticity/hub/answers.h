#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/error.h"
#include "attention_plasticity/hub/http.h"

// The answers of the Hub's API: listings, refusals, and the headers that are the Hub's own.

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

/// Checks that a path from the network stays inside the folder that it is appended to: it is relative, holds no NUL,
/// and no part of it is empty, `.`, `..` or longer than 255 bytes, the limit of file systems.
bool is_inside_folder(std::string_view path);

/// Checks that this is a full commit, not an abbreviation: 40 hexadecimal digits in lower case.
bool is_commit(std::string_view revision);

/// Parse the answers of /api/datasets/NAME/revision/REVISION, of one page of .../tree/REVISION and of .../refs. Throw
/// Error(input) for a path that leaves the folder, and Error(network) for any other answer: text that is not JSON, is
/// nested too deeply or too long, lacks a field, or has a commit or etag of another form.
RevisionInfo parse_revision_info(std::string_view json_text);
std::vector<RepoFile> parse_tree_page(std::string_view json_text);
RepoRefs parse_refs(std::string_view json_text);

/// An entity tag without its quotes: x for `"x"` and `W/"x"`. Text without quotes is returned unchanged.
std::string_view entity_tag(std::string_view header);

/// The address of the next page of a listing, `<ADDRESS>; rel="next"` in a Link header; empty if there is none. It may
/// be relative.
std::string_view next_page(std::string_view link);

/// The object of a request, for messages.
struct HubQuestion {
  std::string endpoint;
  std::string repo;      ///< org/name
  std::string revision;  ///< branch, tag or commit
  std::string file;      ///< empty: the request is not about a file
  bool has_token = false;
};

enum class RefusalReason {
  no_revision,  ///< the repository exists, the revision does not
  no_file,      ///< the revision exists, the file does not
  gated,        ///< access must be requested first
  wrong_token,
  no_repo,  ///< the repository does not exist or is private: the Hub does not say which
  disabled,
  forbidden,  ///< the token lacks the right to read
  rate_limit,
  server,  ///< 5xx: an error of the Hub
  other,
};

/// The reason of an answer with a status of 400 or more: from X-Error-Code and X-Error-Message, otherwise from the
/// status. 401 without these headers means a wrong token; when no token was sent, it means no_repo, because the Hub
/// does not answer 404 to requests without a token.
RefusalReason refusal_reason(const HttpResponse& response, bool has_token);

/// The error for the user: one line that says what happened and what to do. It never shows a token or a signed address.
/// Its kind is access for repository, gate and token, input for revision and file, network for all others.
Error refusal_error(const HubQuestion& question, const HttpResponse& response);

}  // namespace attention_plasticity
