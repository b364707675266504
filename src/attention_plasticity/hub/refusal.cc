#include "attention_plasticity/hub/refusal.h"

#include <fmt/format.h>

#include <string_view>

#include "attention_plasticity/base/text.h"

namespace attention_plasticity {
namespace {

struct Answer {
  const HubQuestion& question;
  int status;
  const HttpHeaders& headers;
  std::chrono::system_clock::time_point now;

  std::string repo() const { return shown_text(question.repo); }
  std::string address() const { return fmt::format("{}/datasets/{}", question.endpoint, repo()); }
  std::string token_address() const { return fmt::format("{}/settings/tokens", question.endpoint); }
};

bool holds(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// The server's own message, to append to ours; empty when it sent none. A server may repeat parts of the request, so a
// message that may hold a token or the query of an address is not shown.
std::string servers_words(const HttpHeaders& headers) {
  const std::string_view words = headers.find("X-Error-Message").value_or("");
  const bool has_query = holds(words, "?") || holds(words, "=");
  const bool has_token = holds(words, "hf_") || holds(words, "api_org_") || holds(words, "earer ");
  if (words.empty() || has_query || has_token) return {};
  return fmt::format(" (the Hub says {})", quoted_text(words));
}

std::string gated_message(const Answer& answer) {
  if (!answer.question.has_token) {
    return fmt::format("{} is gated: ask for access at {}, then pass a token of that account in HF_TOKEN",
                       answer.repo(), answer.address());
  }
  return fmt::format(
      "{} is gated, and the account of the token has no access to it: ask for it at {}, or pass a token of an account "
      "that has it in HF_TOKEN{}",
      answer.repo(), answer.address(), servers_words(answer.headers));
}

std::string no_repo_message(const Answer& answer) {
  const char* const advice = answer.question.has_token
                                 ? "the token may not read it: check the name, and that the account of the token has "
                                   "access to it"
                                 : "it is private: check the name, or set HF_TOKEN to a token that may read it";
  return fmt::format("there is no dataset {} on {}, or {}", answer.repo(), answer.question.endpoint, advice);
}

std::string no_file_message(const Answer& answer) {
  const std::string& file = answer.question.file;
  return fmt::format("{} has {} in revision {}: see {} for what it holds", answer.repo(),
                     file.empty() ? std::string("no such folder") : fmt::format("no file {}", quoted_text(file)),
                     quoted_text(answer.question.revision), answer.address());
}

std::string forbidden_message(const Answer& answer) {
  if (!answer.question.has_token) {
    return fmt::format("the Hub does not give {} without a token (403): set HF_TOKEN to a token that may read it{}",
                       answer.repo(), servers_words(answer.headers));
  }
  return fmt::format(
      "the token may not read {} (403): let it read this dataset at {}, or pass another one in HF_TOKEN{}",
      answer.repo(), answer.token_address(), servers_words(answer.headers));
}

std::string rate_limit_message(const Answer& answer) {
  const auto wait = asked_wait(answer.headers, answer.now);
  const std::string when = wait ? fmt::format("in {} s", wait->count()) : std::string("in a few minutes");
  return fmt::format("the Hub's rate limit is reached ({}): try again {}{}{}", answer.status, when,
                     answer.question.has_token ? "" : ", or set HF_TOKEN: the limit is higher with a token",
                     servers_words(answer.headers));
}

std::string message_of(RefusalReason reason, const Answer& answer) {
  switch (reason) {
    case RefusalReason::no_revision:
      return fmt::format("{} has no revision {}: see {} for its branches and tags", answer.repo(),
                         quoted_text(answer.question.revision), answer.address());
    case RefusalReason::no_file:
      return no_file_message(answer);
    case RefusalReason::gated:
      return gated_message(answer);
    case RefusalReason::wrong_token:
      return fmt::format(
          "the Hub does not accept the token of HF_TOKEN or the token file: make a new one at {}, or remove it to read "
          "what is public{}",
          answer.token_address(), servers_words(answer.headers));
    case RefusalReason::no_repo:
      return no_repo_message(answer);
    case RefusalReason::disabled:
      return fmt::format("the Hub has disabled access to {}: see {} for the reason", answer.repo(), answer.address());
    case RefusalReason::forbidden:
      return forbidden_message(answer);
    case RefusalReason::rate_limit:
      return rate_limit_message(answer);
    case RefusalReason::server:
      return fmt::format("the Hub cannot answer at the moment (status {}): try again later{}", answer.status,
                         servers_words(answer.headers));
    case RefusalReason::other:
      break;
  }
  return fmt::format(
      "{} refuses the request for {} with status {}: check HF_ENDPOINT and the proxy, or try again later{}",
      answer.question.endpoint, answer.repo(), answer.status, servers_words(answer.headers));
}

ErrorKind kind_of(RefusalReason reason) {
  switch (reason) {
    case RefusalReason::no_revision:
    case RefusalReason::no_file:
      return ErrorKind::input;
    case RefusalReason::gated:
    case RefusalReason::wrong_token:
    case RefusalReason::no_repo:
    case RefusalReason::disabled:
    case RefusalReason::forbidden:
      return ErrorKind::access;
    case RefusalReason::rate_limit:
    case RefusalReason::server:
    case RefusalReason::other:
      break;
  }
  return ErrorKind::network;
}

}  // namespace

RefusalReason refusal_reason(int status, const HttpHeaders& headers, bool has_token) {
  const std::string_view code = headers.find("X-Error-Code").value_or("");
  if (code == "RevisionNotFound") return RefusalReason::no_revision;
  if (code == "EntryNotFound") return RefusalReason::no_file;
  if (code == "GatedRepo") return RefusalReason::gated;
  if (headers.find("X-Error-Message") == "Access to this resource is disabled.") return RefusalReason::disabled;
  if (code == "RepoNotFound") return RefusalReason::no_repo;
  if (status == 401) return has_token ? RefusalReason::wrong_token : RefusalReason::no_repo;
  if (status == 403) return RefusalReason::forbidden;
  if (status == 429) return RefusalReason::rate_limit;
  return status >= 500 && status <= 599 ? RefusalReason::server : RefusalReason::other;
}

Error refusal_error(const HubQuestion& question, int status, const HttpHeaders& headers,
                    std::chrono::system_clock::time_point now) {
  const RefusalReason reason = refusal_reason(status, headers, question.has_token);
  return {kind_of(reason), message_of(reason, {question, status, headers, now})};
}

}  // namespace attention_plasticity
