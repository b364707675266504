#include "attention_plasticity/hub/hub_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>
#include <utility>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/hub/url.h"

namespace attention_plasticity {
namespace {

using Clock = std::chrono::system_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int most_redirects = 10;
// Of a listing. The Hub sends a thousand files on a page; the largest dumps have some ten thousand.
constexpr std::size_t most_pages = 10'000;
constexpr std::size_t most_files = 1'000'000;
constexpr int most_unanswered = 3;  // a busy Hub answers; a Hub that does not answer is given up early
constexpr milliseconds longest_pause{30'000};
constexpr seconds longest_wait_granted{600};  // the Hub's rate limits reset after five minutes

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

bool is_passing(int status) { return status == 408 || status == 429 || status >= 500; }

void wait_for(milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, time, [] { return false; });
}

FailedAttempt failed_status(const std::string& url, const HttpResponse& response) {
  return {fmt::format("{} answered with status {}", url_host(url), response.status),
          asked_wait(response.headers, Clock::now()), std::nullopt};
}

[[noreturn]] void refuse(const HubQuestion& question, int status, const HttpHeaders& headers) {
  const Error error = refusal_error(question, status, headers, Clock::now());
  if (refusal_reason(status, headers, question.has_token) == RefusalReason::no_revision) {
    throw NoRevision(error.kind(), error.what());
  }
  throw Error(error);
}

// The commit, digest and size in an answer must be those of the requested file.
void check_identity(const HttpHeaders& headers, const std::string& commit, const RepoFile& file) {
  const auto refuse = [](const std::string& reason) { throw ConnectionFailure(reason, false); };
  if (const auto named = headers.find("X-Repo-Commit"); named && *named != commit) {
    refuse(fmt::format("the Hub sent commit {} in place of {}", shown_text(*named), commit));
  }
  if (const auto etag = headers.find("X-Linked-Etag"); etag && entity_tag(*etag) != file.etag) {
    refuse(fmt::format("the Hub sent other content, {} in place of {}", shown_text(entity_tag(*etag)), file.etag));
  }
  if (const auto size = headers.find("X-Linked-Size"); size && parse_size(*size) != file.size) {
    refuse(fmt::format("the Hub sent a file of {} bytes in place of {}", shown_text(*size), file.size));
  }
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

HubClient::Answer HubClient::get(std::string url, std::optional<std::uint64_t> first_byte, seconds stall_timeout,
                                 const std::function<void(const HttpHeaders&)>& look, const BodySink& body,
                                 const std::stop_token& stop) {
  for (int redirects = 0; redirects <= most_redirects; ++redirects) {
    const bool is_ours = have_same_origin(url, settings_.endpoint);
    const BodySink unless_redirect = [&](const HttpResponse& head, std::string_view bytes) {
      if (!is_redirect(head.status)) body(head, bytes);
    };
    HttpResponse response =
        connection_.get({url, is_ours ? settings_.token : "", first_byte, stall_timeout}, unless_redirect, stop);
    look(response.headers);
    const auto location = response.headers.find("Location");
    if (!is_redirect(response.status) || !location) return {std::move(response), std::move(url)};
    std::string next = resolved_url(url, std::string(*location));
    if (gives_up_encryption(url, next)) {
      throw Error(ErrorKind::network,
                  fmt::format("{} redirects to {} without encryption, which is not followed; check HF_ENDPOINT",
                              url_host(url), url_host(next)));
    }
    url = std::move(next);
  }
  throw Error(ErrorKind::network, fmt::format("{} redirects more than {} times", url_host(url), most_redirects));
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
      Answer answer = get(url, std::nullopt, settings_.answer_timeout, [](const HttpHeaders&) {}, keep, stop);
      const int status = answer.response.status;
      headers = std::move(answer.response.headers);
      if (status >= 200 && status < 300) return body;
      failed = failed_status(answer.url, {status, headers});
      if (!is_passing(status) || !patience.wait(failed, stop)) refuse(question, status, headers);
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
    const auto link = headers.find("Link");
    const std::optional<std::string> next = link ? next_page(*link) : std::nullopt;
    if (!next) return all;
    url = resolved_url(url, *next);
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
      if (head.status == 200 || head.status == 206) body(head, bytes);
    };
    const Answer answer = get(
        url, offset, settings_.stall_timeout,
        [&](const HttpHeaders& headers) { check_identity(headers, commit, file); }, of_success, stop);
    const int status = answer.response.status;
    if (status == 200 || status == 206) return std::nullopt;
    FailedAttempt failed = failed_status(answer.url, answer.response);
    // Addresses of the storage expire. The next attempt asks the Hub for a new one.
    if (!have_same_origin(answer.url, settings_.endpoint)) return failed;
    failed.verdict = refusal_error(question(commit, file.path), status, answer.response.headers, Clock::now());
    if (!is_passing(status)) throw Error(*failed.verdict);
    return failed;
  } catch (const ConnectionFailure& failure) {
    if (failure.is_lasting()) throw Error(ErrorKind::network, failure.what(), file.path);
    return FailedAttempt{failure.what(), std::nullopt, std::nullopt};
  }
}

}  // namespace attention_plasticity
