#include "attention_plasticity/hub/hub_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>
#include <utility>

#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Of a listing. The Hub sends a thousand files on a page; the largest dumps have some ten thousand.
constexpr std::size_t most_pages = 10'000;
constexpr std::size_t most_files = 1'000'000;
constexpr int most_unanswered = 3;  // a busy Hub answers; a Hub that does not answer is given up early
constexpr milliseconds longest_pause{30'000};
constexpr seconds longest_wait_granted{600};  // the Hub's rate limits reset after five minutes

bool is_passing(int status) { return status == 408 || status == 429 || status >= 500; }

void wait_for(milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, time, [] { return false; });
}

FailedAttempt failed_status(const HttpResponse& response) {
  return {fmt::format("{} answered with status {}", url_host(response.url), response.status), response.asked_wait,
          std::nullopt};
}

[[noreturn]] void refuse(const HubQuestion& question, const HttpResponse& response) {
  const Error error = refusal_error(question, response);
  if (refusal_reason(response, question.has_token) == RefusalReason::no_revision) {
    throw NoRevision(error.kind(), error.what());
  }
  throw Error(error);
}

// The commit, digest and size that the Hub's answer or a redirect of it names must be those of the requested file.
void check_identity(const HttpResponse& response, const std::string& commit, const RepoFile& file) {
  const auto refuse = [](const std::string& reason) { throw ConnectionFailure(reason, false); };
  const auto check = [&](const HttpHeaders& headers) {
    if (const auto named = header_value(headers, "x-repo-commit"); !named.empty() && named != commit) {
      refuse(fmt::format("the Hub sent commit {} in place of {}", shown_text(named), commit));
    }
    if (const auto etag = entity_tag(header_value(headers, "x-linked-etag")); !etag.empty() && etag != file.etag) {
      refuse(fmt::format("the Hub sent other content, {} in place of {}", shown_text(etag), file.etag));
    }
    if (const auto size = header_value(headers, "x-linked-size"); !size.empty() && size != std::to_string(file.size)) {
      refuse(fmt::format("the Hub sent a file of {} bytes in place of {}", shown_text(size), file.size));
    }
  };
  std::ranges::for_each(response.redirects, check);
  check(response.headers);
}

}  // namespace

bool Patience::wait(const FailedAttempt& failed, const std::stop_token& stop) {
  if (--left_ <= 0 || failed.asked_wait > longest_wait_granted) return false;
  milliseconds pause = std::min(settings_.first_pause * (1U << std::min(pauses_, 10U)), longest_pause);
  // One second more, because servers round the time down to whole seconds.
  if (failed.asked_wait) pause = *failed.asked_wait + seconds(1);
  ++pauses_;
  if (settings_.pause) {
    settings_.pause(pause);
  } else {
    wait_for(pause, stop);
  }
  throw_if_stopped(stop);
  return true;
}

void Patience::renew(int attempts) {
  left_ = attempts;
  pauses_ = 0;
}

HubClient::HubClient(const HubSettings& settings, std::string repo)
    : settings_(settings), repo_(std::move(repo)), connection_(settings) {}

std::string HubClient::api_url(const std::string& rest) const {
  return fmt::format("{}/api/datasets/{}/{}", settings_.endpoint, percent_encoded(repo_, Slashes::keep), rest);
}

HubQuestion HubClient::question(const std::string& revision, const std::string& file) const {
  return {settings_.endpoint, repo_, revision, file, !settings_.token.empty()};
}

HttpResponse HubClient::get(const std::string& url, std::optional<std::uint64_t> first_byte, seconds stall_timeout,
                            const BodySink& body, const std::stop_token& stop) {
  const bool is_ours = have_same_origin(url, settings_.endpoint);
  return connection_.get({url, is_ours ? settings_.token : "", first_byte, stall_timeout}, body, stop);
}

std::string HubClient::api_answer(const std::string& url, const HubQuestion& question, int attempts,
                                  HttpHeaders& headers, const std::stop_token& stop) {
  Patience patience(settings_, attempts);
  int unanswered = 0;
  while (true) {
    std::string body;
    FailedAttempt failed;
    const BodySink keep = [&](const HttpResponse&, std::string_view bytes) {
      if (body.size() + bytes.size() > longest_answer) {
        throw Error(ErrorKind::network,
                    fmt::format("the answer of {} is longer than {}", url_host(url), size_text(longest_answer)));
      }
      body += bytes;
    };
    try {
      HttpResponse response = get(url, std::nullopt, settings_.answer_timeout, keep, stop);
      const int status = response.status;
      if (status >= 200 && status < 300) {
        headers = std::move(response.headers);
        return body;
      }
      failed = failed_status(response);
      if (!is_passing(status) || !patience.wait(failed, stop)) refuse(question, response);
    } catch (const ConnectionFailure& failure) {
      failed.reason = failure.what();
      if (failure.is_lasting() || ++unanswered == most_unanswered || !patience.wait(failed, stop)) {
        throw Error(ErrorKind::network, fmt::format("the Hub cannot be reached: {}; check the connection and proxy "
                                                    "settings, or use a dump on disk with `dataset_local_root`",
                                                    failed.reason));
      }
    }
  }
}

RevisionInfo HubClient::revision(const std::string& revision, int attempts, const std::stop_token& stop) {
  HttpHeaders headers;
  const std::string url = api_url(fmt::format("revision/{}", percent_encoded(revision, Slashes::encode)));
  return parse_revision_info(api_answer(url, question(revision), attempts, headers, stop));
}

std::vector<RepoFile> HubClient::files(const std::string& commit, const std::stop_token& stop) {
  std::vector<RepoFile> all;
  std::string url = api_url(fmt::format("tree/{}?recursive=true&expand=false", commit));
  std::set<std::string> seen;
  while (seen.insert(url).second) {
    HttpHeaders headers;
    const std::vector<RepoFile> page =
        parse_tree_page(api_answer(url, question(commit), settings_.attempts, headers, stop));
    all.insert(all.end(), page.begin(), page.end());
    if (all.size() > most_files || seen.size() > most_pages) {
      throw Error(ErrorKind::network,
                  fmt::format("the listing of {} on {} has no end: {} files on {} pages so far; at "
                              "most {} files on {} pages are read",
                              repo_, url_host(settings_.endpoint), all.size(), seen.size(), most_files, most_pages));
    }
    const std::string next(next_page(header_value(headers, "link")));
    if (next.empty()) return all;
    url = resolved_url(url, next);
    if (!have_same_origin(url, settings_.endpoint)) break;
  }
  throw Error(ErrorKind::network, fmt::format("the listing of {} on {} links to an earlier page or to another host",
                                              repo_, url_host(settings_.endpoint)));
}

RepoRefs HubClient::refs(const std::stop_token& stop) {
  HttpHeaders headers;
  return parse_refs(api_answer(api_url("refs"), question(""), settings_.attempts, headers, stop));
}

std::optional<FailedAttempt> HubClient::try_file(const std::string& commit, const RepoFile& file,
                                                 std::uint64_t first_byte, const BodySink& body,
                                                 const std::stop_token& stop) {
  const std::string url =
      fmt::format("{}/datasets/{}/resolve/{}/{}", settings_.endpoint, percent_encoded(repo_, Slashes::keep), commit,
                  percent_encoded(file.path, Slashes::keep));
  const auto offset = first_byte > 0 ? std::optional(first_byte) : std::nullopt;
  try {
    const BodySink of_success = [&](const HttpResponse& head, std::string_view bytes) {
      check_identity(head, commit, file);
      if (head.status == 200 || head.status == 206) body(head, bytes);
    };
    const HttpResponse response = get(url, offset, settings_.stall_timeout, of_success, stop);
    check_identity(response, commit, file);
    if (response.status == 200 || response.status == 206) return std::nullopt;
    FailedAttempt failed = failed_status(response);
    // Addresses of the storage expire. The next attempt asks the Hub for a new one.
    if (!have_same_origin(response.url, settings_.endpoint)) return failed;
    failed.verdict = refusal_error(question(commit, file.path), response);
    if (!is_passing(response.status)) throw Error(*failed.verdict);
    return failed;
  } catch (const ConnectionFailure& failure) {
    if (failure.is_lasting()) throw Error(ErrorKind::network, failure.what(), file.path);
    return FailedAttempt{failure.what(), std::nullopt, std::nullopt};
  }
}

}  // namespace attention_plasticity
