#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "attention_plasticity/hub/http.h"
#include "attention_plasticity/hub/listing.h"
#include "attention_plasticity/hub/refusal.h"
#include "attention_plasticity/hub/settings.h"

namespace attention_plasticity {

/// An attempt that failed in a way that another one may not.
struct FailedAttempt {
  std::string reason;
  std::optional<std::chrono::seconds> asked_wait;  ///< by the server
  std::optional<Error> verdict;                    ///< what to tell the user when no attempt is left; none: the reason
};

/// The dataset is there, the revision is not.
class NoRevision : public Error {
 public:
  using Error::Error;
};

/// Pauses between attempts: as long as the server asks, else twice as long each time.
class Patience {
 public:
  Patience(const HubSettings& settings, int attempts) : settings_(settings), left_(attempts) {}

  /// Waits before the next attempt; false when there is none left, or the server asks for more than a few minutes.
  /// Throws Stopped after a stop request.
  bool wait(const FailedAttempt& failed, const std::stop_token& stop);
  /// The last attempt brought something: begin to count again.
  void renew(int attempts);

 private:
  const HubSettings& settings_;
  int left_;
  unsigned pauses_ = 0;
};

/// Asks the Hub about one dataset. One request at a time: every thread has its own. The token goes to the endpoint and
/// nowhere else, whatever redirects say. All functions throw Error as refusal_error has it, Error(network) when the Hub
/// cannot be reached, and Stopped.
class HubClient {
 public:
  HubClient(const HubSettings& settings, std::string repo);

  /// Of a branch, tag or commit; throws NoRevision too. `attempts` in place of those of the settings.
  RevisionInfo revision(const std::string& revision, int attempts, const std::stop_token& stop);
  /// All files of a commit.
  std::vector<RepoFile> files(const std::string& commit, const std::stop_token& stop);
  RepoRefs refs(const std::stop_token& stop);

  /// One attempt at the bytes of a file from `first_byte` on: `body` gets them once an answer is the file's. None when
  /// it arrived to its end, else why not, for another attempt. Throws what no attempt can mend.
  std::optional<FailedAttempt> try_file(const std::string& commit, const RepoFile& file, std::uint64_t first_byte,
                                        const BodySink& body, const std::stop_token& stop);

  const HubSettings& settings() const { return settings_; }
  const std::string& repo() const { return repo_; }

 private:
  struct Answer {
    HttpResponse response;
    std::string url;  // the last of the redirects
  };
  /// Follows redirects; `look` sees the head of every answer on the way.
  Answer get(std::string url, std::optional<std::uint64_t> first_byte, std::chrono::seconds stall_timeout,
             const std::function<void(const HttpHeaders&)>& look, const BodySink& body, const std::stop_token& stop);
  /// The body of an answer of the API, and its headers.
  std::string api_answer(const std::string& url, const HubQuestion& question, int attempts, HttpHeaders& headers,
                         const std::stop_token& stop);
  std::string api_url(const std::string& rest) const;
  HubQuestion question(const std::string& revision, const std::string& file = {}) const;

  const HubSettings& settings_;
  std::string repo_;
  HttpConnection connection_;
};

}  // namespace attention_plasticity
