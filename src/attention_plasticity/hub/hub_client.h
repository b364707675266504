#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "attention_plasticity/hub.h"
#include "attention_plasticity/hub/answers.h"
#include "attention_plasticity/hub/http.h"

namespace attention_plasticity {

/// An attempt that failed; another one may succeed.
struct FailedAttempt {
  std::string reason;
  std::optional<std::chrono::seconds> asked_wait;  ///< the time that the server asks to wait
  std::optional<Error> verdict;                    ///< the error when no attempt is left; nothing: show the reason
};

/// The dataset exists, the revision does not.
class NoRevision : public Error {
 public:
  using Error::Error;
};

/// Counts attempts and pauses between them: as long as the server asks, otherwise twice as long each time.
class Patience {
 public:
  Patience(const HubSettings& settings, int attempts) : settings_(settings), left_(attempts) {}

  /// Pauses before the next attempt. Returns false, without a pause, when no attempt is left or the server asks to wait
  /// for more than ten minutes. Throws Stopped after a stop request.
  bool wait(const FailedAttempt& failed, const std::stop_token& stop);
  /// Starts to count again, after an attempt that made progress.
  void renew(int attempts);

 private:
  const HubSettings& settings_;
  int left_;
  unsigned pauses_ = 0;
};

/// Sends requests about one dataset, one at a time; each thread needs a client of its own. The token is sent only to
/// the endpoint, never to the target of a redirect on another host. All functions throw the errors of refusal_error,
/// Error(network) when the Hub cannot be reached, and Stopped.
class HubClient {
 public:
  HubClient(const HubSettings& settings, std::string repo);

  /// Looks up a branch, tag or commit. Uses `attempts` in place of the settings' number. Throws NoRevision too.
  RevisionInfo revision(const std::string& revision, int attempts, const std::stop_token& stop);
  /// All files of a commit.
  std::vector<RepoFile> files(const std::string& commit, const std::stop_token& stop);
  RepoRefs refs(const std::stop_token& stop);

  /// Makes one attempt to get the bytes of a file from `first_byte` on, and hands them to `body`. Returns nothing when
  /// the answer is complete, otherwise why the attempt failed. Throws when another attempt cannot help.
  std::optional<FailedAttempt> try_file(const std::string& commit, const RepoFile& file, std::uint64_t first_byte,
                                        const BodySink& body, const std::stop_token& stop);

  const HubSettings& settings() const { return settings_; }

 private:
  HttpResponse get(const std::string& url, std::optional<std::uint64_t> first_byte, std::chrono::seconds stall_timeout,
                   const BodySink& body, const std::stop_token& stop);
  /// The body of an answer of the API; its headers go to `headers`.
  std::string api_answer(const std::string& url, const HubQuestion& question, int attempts, HttpHeaders& headers,
                         const std::stop_token& stop);
  std::string api_url(const std::string& rest) const;
  HubQuestion question(const std::string& revision, const std::string& file = {}) const;

  const HubSettings& settings_;
  std::string repo_;
  HttpConnection connection_;
};

}  // namespace attention_plasticity
