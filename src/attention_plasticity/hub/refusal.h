#pragma once

#include <chrono>
#include <string>

#include "attention_plasticity/base/error.h"
#include "attention_plasticity/hub/http_headers.h"

namespace attention_plasticity {

/// What was asked for, as messages name it.
struct HubQuestion {
  std::string endpoint;
  std::string repo;      ///< org/name
  std::string revision;  ///< branch, tag or commit
  std::string file;      ///< empty: not of a file
  bool has_token = false;
};

enum class RefusalReason {
  no_revision,  ///< the repository is there, the revision is not
  no_file,      ///< nor the file in it
  gated,        ///< terms to be accepted first
  wrong_token,
  no_repo,  ///< or a private one: the Hub does not tell
  disabled,
  forbidden,  ///< the token does not reach that far
  rate_limit,
  server,  ///< 5xx: the Hub's own trouble
  other,
};

/// Why an answer with a status of 400 or more was given: by X-Error-Code and X-Error-Message, else by the status. 401
/// without either is a wrong token, or no repository when there was none: the Hub has no 404 for strangers.
RefusalReason refusal_reason(int status, const HttpHeaders& headers, bool has_token);

/// What the user is told: one line that says what happened and what to do; never a token, never a signed address.
/// access for repository, gate and token, input for revision and file, network for the rest. `now` turns a date of
/// Retry-After into a wait.
Error refusal_error(const HubQuestion& question, int status, const HttpHeaders& headers,
                    std::chrono::system_clock::time_point now);

}  // namespace attention_plasticity
