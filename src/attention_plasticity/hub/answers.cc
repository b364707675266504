#include "attention_plasticity/hub/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/json/json.h"

namespace attention_plasticity {
namespace {

using nlohmann::json;

// The Hub lists at most this number of files with a revision: a list of this length may be incomplete.
constexpr std::size_t most_siblings = 50'000;

// Reads one kind of answer, which messages call `name`.
class AnswerReader {
 public:
  explicit AnswerReader(std::string_view name) : name_(name) {}

  [[noreturn]] void refuse(std::string_view why) const {
    throw Error(ErrorKind::network,
                fmt::format("the Hub's {} cannot be used: {}; try again, and check HF_ENDPOINT if that does not help",
                            name_, why));
  }

  json parse(std::string_view text) const {
    try {
      return parse_json(text, {.subject = "it", .most_bytes = longest_answer});
    } catch (const Error& error) {
      refuse(error.what());
    }
  }

  // Null when the field is missing or null. Throws when `object` is not an object.
  const json* find(const json& object, const char* key) const {
    if (!object.is_object()) refuse("an object is expected");
    return find_field(object, key);
  }

  const json& field(const json& object, const char* key) const {
    const json* const found = find(object, key);
    if (found == nullptr) refuse(fmt::format("{} is missing", key));
    return *found;
  }

  const std::string& text(const json& object, const char* key) const {
    const json& value = field(object, key);
    if (!value.is_string()) refuse(fmt::format("{} is not text", key));
    return value.get_ref<const std::string&>();
  }

  std::uint64_t size(const json& object) const {
    constexpr std::uint64_t most = std::uint64_t{1} << 53U;  // a double holds all whole numbers up to it
    const json& value = field(object, "size");
    const auto* const number = value.get_ptr<const json::number_unsigned_t*>();
    if (number == nullptr || *number > most) refuse("size is not a number of bytes");
    return *number;
  }

  void require_list(const json& value, const char* key) const {
    if (!value.is_array()) refuse(fmt::format("{} is not a list", key));
  }

 private:
  std::string_view name_;
};

bool is_lower_hex(std::string_view text, std::size_t digits) {
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == digits && std::ranges::all_of(text, is_hex);
}

void require_inside_folder(const std::string& path) {
  if (is_inside_folder(path)) return;
  throw Error(ErrorKind::input, fmt::format("the Hub lists a file {}, which leaves the folder of the dataset or is not "
                                            "the name of a file; nothing was written: do not trust this dataset",
                                            quoted_text(path)));
}

std::optional<RepoFile> parse_tree_entry(const AnswerReader& reader, const json& entry) {
  RepoFile file;
  file.path = reader.text(entry, "path");
  require_inside_folder(file.path);
  if (reader.text(entry, "type") != "file") return std::nullopt;
  const json* const large = reader.find(entry, "lfs");
  const json& content = large == nullptr ? entry : *large;
  file.is_large = large != nullptr;
  file.size = reader.size(content);
  file.etag = reader.text(content, "oid");
  if (!is_lower_hex(file.etag, file.is_large ? 64 : 40)) {
    reader.refuse(
        fmt::format("oid is {}, which is not a {}", quoted_text(file.etag), file.is_large ? "SHA-256" : "SHA-1"));
  }
  return file;
}

std::vector<std::string> parse_names(const AnswerReader& reader, const json* refs, const char* key) {
  std::vector<std::string> names;
  if (refs == nullptr) return names;
  reader.require_list(*refs, key);
  names.reserve(refs->size());
  for (const json& ref : *refs) names.push_back(reader.text(ref, "name"));
  return names;
}

struct Refusal {
  const HubQuestion& question;
  const HttpResponse& response;

  std::string repo() const { return shown_text(question.repo); }
  std::string address() const { return fmt::format("{}/datasets/{}", question.endpoint, repo()); }
  std::string token_address() const { return fmt::format("{}/settings/tokens", question.endpoint); }
};

bool holds(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// The server's own message, to append to ours; empty when it sent none. A server may repeat parts of the request, so a
// message that may hold a token or the query of an address is not shown.
std::string servers_words(const HttpHeaders& headers) {
  const std::string_view words = header_value(headers, "x-error-message");
  const bool has_query = holds(words, "?") || holds(words, "=");
  const bool has_token = holds(words, "hf_") || holds(words, "api_org_") || holds(words, "earer ");
  if (words.empty() || has_query || has_token) return {};
  return fmt::format(" (the Hub says {})", quoted_text(words));
}

std::string gated_message(const Refusal& refusal) {
  if (!refusal.question.has_token) {
    return fmt::format("{} is gated: ask for access at {}, then pass a token of that account in HF_TOKEN",
                       refusal.repo(), refusal.address());
  }
  return fmt::format(
      "{} is gated, and the account of the token has no access to it: ask for it at {}, or pass a token of an account "
      "that has it in HF_TOKEN{}",
      refusal.repo(), refusal.address(), servers_words(refusal.response.headers));
}

std::string no_repo_message(const Refusal& refusal) {
  const char* const advice = refusal.question.has_token
                                 ? "the token may not read it: check the name, and that the account of the token has "
                                   "access to it"
                                 : "it is private: check the name, or set HF_TOKEN to a token that may read it";
  return fmt::format("there is no dataset {} on {}, or {}", refusal.repo(), refusal.question.endpoint, advice);
}

std::string no_file_message(const Refusal& refusal) {
  const std::string& file = refusal.question.file;
  return fmt::format("{} has {} in revision {}: see {} for what it holds", refusal.repo(),
                     file.empty() ? std::string("no such folder") : fmt::format("no file {}", quoted_text(file)),
                     quoted_text(refusal.question.revision), refusal.address());
}

std::string forbidden_message(const Refusal& refusal) {
  if (!refusal.question.has_token) {
    return fmt::format("the Hub does not give {} without a token (403): set HF_TOKEN to a token that may read it{}",
                       refusal.repo(), servers_words(refusal.response.headers));
  }
  return fmt::format(
      "the token may not read {} (403): let it read this dataset at {}, or pass another one in HF_TOKEN{}",
      refusal.repo(), refusal.token_address(), servers_words(refusal.response.headers));
}

std::string rate_limit_message(const Refusal& refusal) {
  const auto wait = refusal.response.asked_wait;
  const std::string when = wait ? fmt::format("in {} s", wait->count()) : std::string("in a few minutes");
  return fmt::format("the Hub's rate limit is reached ({}): try again {}{}{}", refusal.response.status, when,
                     refusal.question.has_token ? "" : ", or set HF_TOKEN: the limit is higher with a token",
                     servers_words(refusal.response.headers));
}

std::string message_of(RefusalReason reason, const Refusal& refusal) {
  switch (reason) {
    case RefusalReason::no_revision:
      return fmt::format("{} has no revision {}: see {} for its branches and tags", refusal.repo(),
                         quoted_text(refusal.question.revision), refusal.address());
    case RefusalReason::no_file:
      return no_file_message(refusal);
    case RefusalReason::gated:
      return gated_message(refusal);
    case RefusalReason::wrong_token:
      return fmt::format(
          "the Hub does not accept the token of HF_TOKEN or the token file: make a new one at {}, or remove it to read "
          "what is public{}",
          refusal.token_address(), servers_words(refusal.response.headers));
    case RefusalReason::no_repo:
      return no_repo_message(refusal);
    case RefusalReason::disabled:
      return fmt::format("the Hub has disabled access to {}: see {} for the reason", refusal.repo(), refusal.address());
    case RefusalReason::forbidden:
      return forbidden_message(refusal);
    case RefusalReason::rate_limit:
      return rate_limit_message(refusal);
    case RefusalReason::server:
      return fmt::format("the Hub cannot answer at the moment (status {}): try again later{}", refusal.response.status,
                         servers_words(refusal.response.headers));
    case RefusalReason::other:
      break;
  }
  return fmt::format(
      "{} refuses the request for {} with status {}: check HF_ENDPOINT and the proxy, or try again later{}",
      refusal.question.endpoint, refusal.repo(), refusal.response.status, servers_words(refusal.response.headers));
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

bool is_inside_folder(std::string_view path) {
  constexpr std::size_t longest_name = 255;
  if (path.find('\0') != std::string_view::npos) return false;
  while (true) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == ".." || part.size() > longest_name) return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

bool is_commit(std::string_view revision) { return is_lower_hex(revision, 40); }

RevisionInfo parse_revision_info(std::string_view json_text) {
  const AnswerReader reader("answer about the revision");
  const json answer = reader.parse(json_text);
  RevisionInfo info;
  info.commit = reader.text(answer, "sha");
  if (!is_commit(info.commit)) reader.refuse(fmt::format("sha is {}, which is not a commit", quoted_text(info.commit)));
  const json* const siblings = reader.find(answer, "siblings");
  if (siblings == nullptr) return info;
  reader.require_list(*siblings, "siblings");
  info.paths.reserve(siblings->size());
  for (const json& sibling : *siblings) {
    const std::string& path = reader.text(sibling, "rfilename");
    require_inside_folder(path);
    info.paths.push_back(path);
  }
  info.lists_all = info.paths.size() < most_siblings;
  return info;
}

std::vector<RepoFile> parse_tree_page(std::string_view json_text) {
  const AnswerReader reader("list of files");
  const json answer = reader.parse(json_text);
  std::vector<RepoFile> files;
  reader.require_list(answer, "it");
  files.reserve(answer.size());
  for (const json& entry : answer) {
    if (auto file = parse_tree_entry(reader, entry)) files.push_back(*std::move(file));
  }
  return files;
}

RepoRefs parse_refs(std::string_view json_text) {
  const AnswerReader reader("list of branches");
  const json answer = reader.parse(json_text);
  return {parse_names(reader, &reader.field(answer, "branches"), "branches"),
          parse_names(reader, reader.find(answer, "tags"), "tags")};
}

std::string_view entity_tag(std::string_view header) {
  std::string_view quoted = header;
  if (quoted.starts_with("W/")) quoted.remove_prefix(2);
  const bool is_quoted = quoted.size() >= 2 && quoted.front() == '"' && quoted.back() == '"';
  return is_quoted ? quoted.substr(1, quoted.size() - 2) : header;
}

std::string_view next_page(std::string_view link) {
  while (true) {
    const std::size_t begin = link.find('<');
    if (begin == std::string_view::npos) return {};
    link.remove_prefix(begin + 1);
    const std::size_t end = link.find('>');
    if (end == std::string_view::npos) return {};
    const std::string_view address = link.substr(0, end);
    link.remove_prefix(end + 1);
    const std::string_view parameters = link.substr(0, link.find('<'));
    if (parameters.find("rel=\"next\"") != std::string_view::npos) return address;
  }
}

RefusalReason refusal_reason(const HttpResponse& response, bool has_token) {
  const int status = response.status;
  const std::string_view code = header_value(response.headers, "x-error-code");
  if (code == "RevisionNotFound") return RefusalReason::no_revision;
  if (code == "EntryNotFound") return RefusalReason::no_file;
  if (code == "GatedRepo") return RefusalReason::gated;
  if (header_value(response.headers, "x-error-message") == "Access to this resource is disabled.")
    return RefusalReason::disabled;
  if (code == "RepoNotFound") return RefusalReason::no_repo;
  if (status == 401) return has_token ? RefusalReason::wrong_token : RefusalReason::no_repo;
  if (status == 403) return RefusalReason::forbidden;
  if (status == 429) return RefusalReason::rate_limit;
  return status >= 500 && status <= 599 ? RefusalReason::server : RefusalReason::other;
}

Error refusal_error(const HubQuestion& question, const HttpResponse& response) {
  const RefusalReason reason = refusal_reason(response, question.has_token);
  return {kind_of(reason), message_of(reason, {question, response})};
}

}  // namespace attention_plasticity
