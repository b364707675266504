#pragma once

#include <chrono>
#include <string>

#include "attention_plasticity/error.h"
#include "attention_plasticity/hub/http_headers.h"

namespace attention_plasticity {

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
  no_repo,  ///< the repository does not exist or is private: the Hub does not tell which
  disabled,
  forbidden,  ///< the token lacks the right to read
  rate_limit,
  server,  ///< 5xx: an error of the Hub
  other,
};

/// The reason of an answer with a status of 400 or more: from X-Error-Code and X-Error-Message, otherwise from the
/// status. 401 without these headers means a wrong token; when no token was sent, it means no_repo, because the Hub
/// does not answer 404 to requests without a token.
RefusalReason refusal_reason(int status, const HttpHeaders& headers, bool has_token);

/// The error for the user: one line that says what happened and what to do. It never shows a token or a signed address.
/// Its kind is access for repository, gate and token, input for revision and file, network for all others. `now` is
/// subtracted from a date in Retry-After.
Error refusal_error(const HubQuestion& question, int status, const HttpHeaders& headers,
                    std::chrono::system_clock::time_point now);

}  // namespace attention_plasticity
