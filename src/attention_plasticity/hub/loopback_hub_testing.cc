#include "attention_plasticity/hub/loopback_hub_testing.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

namespace attention_plasticity {
namespace {

std::string percent_encoded(std::string_view text, std::string_view kept) {
  std::string encoded;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-_.~").find(c) != std::string_view::npos ||
                       kept.find(c) != std::string_view::npos;
    encoded += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string digits(text.substr(i + 1, 2));
    std::size_t used = 0;
    const bool coded =
        text[i] == '%' && digits.size() == 2 && digits.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
    decoded += coded ? static_cast<char>(std::stoi(digits, &used, 16)) : text[i];
    i += used;
  }
  return decoded;
}

/// A target taken apart. A slash that is percent-encoded does not part.
struct Target {
  std::string path;
  std::vector<std::string> parts;
  std::map<std::string, std::string> query;
};

Target parse_target(std::string_view text) {
  Target target;
  const auto question = std::min(text.find('?'), text.size());
  target.path = text.substr(0, question);
  for (std::string_view rest = text.substr(0, question); !rest.empty();) {
    const auto slash = std::min(rest.find('/', 1), rest.size());
    target.parts.push_back(percent_decoded(rest.substr(1, slash - 1)));
    rest.remove_prefix(slash);
  }
  for (std::string_view rest = text.substr(std::min(question + 1, text.size())); !rest.empty();) {
    const auto end = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, end);
    const auto equals = std::min(pair.find('='), pair.size());
    target.query[percent_decoded(pair.substr(0, equals))] =
        percent_decoded(pair.substr(std::min(equals + 1, pair.size())));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return target;
}

std::string joined(const std::vector<std::string>& parts, std::size_t first) {
  std::string text;
  for (std::size_t i = first; i < parts.size(); ++i) text += (i == first ? "" : "/") + parts[i];
  return text;
}

bool fits(const HubRequestPattern& pattern, const HubRequest& request) {
  return (!pattern.host || *pattern.host == request.host) &&
         (pattern.method.empty() || pattern.method == request.method) &&
         request.target.find(pattern.target_part) != std::string::npos;
}

LoopbackAnswer json_answer(std::string json) {
  LoopbackAnswer answer;
  answer.headers = {{"Content-Type", "application/json; charset=utf-8"},
                    {"RateLimit", "\"api\";r=499;t=120"},
                    {"RateLimit-Policy", "\"fixed window\";\"api\";q=500;w=300"}};
  answer.body = std::move(json);
  return answer;
}

/// The message may quote what was asked for; only what a header can hold is kept of it.
LoopbackAnswer refusal(int status, std::string_view code, std::string message) {
  std::replace_if(message.begin(), message.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  LoopbackAnswer answer = json_answer(nlohmann::json{{"error", message}}.dump());
  answer.status = status;
  if (!code.empty()) answer.set_header("X-Error-Code", std::string(code));
  answer.set_header("X-Error-Message", message);
  return answer;
}

/// The range of `Range: bytes=...` in a file of `size` bytes, its end excluded; none for what is no single range.
/// A range beyond the file has its begin at `size`.
std::optional<std::pair<std::size_t, std::size_t>> parse_range(std::string_view header, std::size_t size) {
  constexpr std::string_view unit = "bytes=";
  const auto dash = header.find('-');
  if (!header.starts_with(unit) || dash == std::string_view::npos) return std::nullopt;
  const auto number = [](std::string_view text) -> std::optional<std::size_t> {
    std::size_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    return failure == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
  };
  const std::string_view first_text = header.substr(unit.size(), dash - unit.size());
  const std::string_view last_text = header.substr(dash + 1);
  const auto first = number(first_text);
  const auto last = number(last_text);
  if (first_text.empty() && last) return std::pair(size - std::min(*last, size), size);
  if (!first || (!last && !last_text.empty()) || (last && *last < *first)) return std::nullopt;
  return std::pair(std::min(*first, size), last ? std::min(*last, size - 1) + 1 : size);
}

/// Sends the content or the part of it that is asked for.
void put_content(LoopbackAnswer& answer, const LoopbackRequest& request, const std::string& content) {
  answer.set_header("Accept-Ranges", "bytes");
  const auto header = request.headers.find("range");
  const auto range = header == request.headers.end() ? std::nullopt : parse_range(header->second, content.size());
  if (!range) {
    answer.body = content;
  } else if (range->first >= content.size()) {
    answer.status = 416;
    answer.set_header("Content-Range", fmt::format("bytes */{}", content.size()));
  } else {
    answer.status = 206;
    answer.body = content.substr(range->first, range->second - range->first);
    answer.set_header("Content-Range", fmt::format("bytes {}-{}/{}", range->first, range->second - 1, content.size()));
  }
}

std::size_t number_in(const std::map<std::string, std::string>& query, const std::string& name, std::size_t otherwise) {
  const auto found = query.find(name);
  if (found == query.end()) return otherwise;
  std::size_t value = otherwise;
  std::from_chars(found->second.data(), found->second.data() + found->second.size(), value);
  return value;
}

LoopbackAnswer tree_answer(const std::string& origin, const Target& target, const LoopbackRepo& repo,
                           const LoopbackSnapshot& snapshot, const std::string& folder) {
  const auto wish = target.query.find("recursive");
  const bool recursive = wish != target.query.end() && (wish->second == "true" || wish->second == "True");
  const std::size_t most = repo.options().page_size;
  const LoopbackTreePage page = tree_page(snapshot, folder, recursive, number_in(target.query, "cursor", 0),
                                          std::min(number_in(target.query, "limit", most), most));
  if (!page.has_folder) return refusal(404, "EntryNotFound", folder + " does not exist on " + snapshot.commit);
  LoopbackAnswer answer = json_answer(page.json);
  if (page.next > 0) {
    std::string next = origin + target.path + "?";
    for (const auto& [name, value] : target.query) {
      if (name != "cursor") next += fmt::format("{}={}&", name, percent_encoded(value, ""));
    }
    answer.set_header("Link", fmt::format("<{}cursor={}>; rel=\"next\"", next, page.next));
  }
  return answer;
}

}  // namespace

LoopbackHub::LoopbackHub() {
  // A proxy that this machine may have leads elsewhere.
  ::setenv("no_proxy", "127.0.0.1,127.0.0.2", 1);
  storage_ = std::make_unique<LoopbackServer>(
      "127.0.0.2", [this](const LoopbackRequest& request) { return answer(HubHost::storage, request); });
  storage_origin_ = storage_->origin();
  api_ = std::make_unique<LoopbackServer>(
      "127.0.0.1", [this](const LoopbackRequest& request) { return answer(HubHost::api, request); });
}

LoopbackHub::~LoopbackHub() = default;

void LoopbackHub::add_file(const std::string& repo, const std::string& branch, const std::string& path,
                           std::string content, bool large) {
  const std::lock_guard lock(mutex_);
  const auto file = repos_[repo].add_file(branch, path, std::move(content), large);
  if (large) stored_[file->etag] = file;
}

void LoopbackHub::add_tag(const std::string& repo, const std::string& tag, const std::string& branch) {
  const std::lock_guard lock(mutex_);
  repos_.at(repo).add_tag(tag, branch);
}

void LoopbackHub::set_options(const std::string& repo, HubRepoOptions options) {
  const std::lock_guard lock(mutex_);
  repos_[repo].set_options(std::move(options));
}

void LoopbackHub::accept_token(const std::string& token) {
  const std::lock_guard lock(mutex_);
  tokens_.insert(token);
}

std::string LoopbackHub::commit(const std::string& repo, const std::string& revision) {
  const std::lock_guard lock(mutex_);
  const auto snapshot = repos_.at(repo).find(revision);
  return snapshot == nullptr ? "" : snapshot->commit;
}

void LoopbackHub::inject(HubRequestPattern requests, LoopbackFault fault, std::size_t times) {
  const std::lock_guard lock(mutex_);
  if (times > 0) faults_.push_back({std::move(requests), std::move(fault), times});
}

std::size_t LoopbackHub::faults_left() const {
  const std::lock_guard lock(mutex_);
  std::size_t left = 0;
  for (const PendingFault& pending : faults_) left += pending.times;
  return left;
}

void LoopbackHub::expire_addresses() {
  const std::lock_guard lock(mutex_);
  ++address_generation_;
}

void LoopbackHub::set_bytes_per_second(std::size_t bytes_per_second) {
  const std::lock_guard lock(mutex_);
  bytes_per_second_ = bytes_per_second;
}

std::vector<HubRequest> LoopbackHub::requests() const { return requests({}); }

std::vector<HubRequest> LoopbackHub::requests(const HubRequestPattern& pattern) const {
  const std::lock_guard lock(mutex_);
  std::vector<HubRequest> chosen;
  for (const auto& request : requests_) {
    if (fits(pattern, *request)) chosen.push_back(*request);
  }
  return chosen;
}

void LoopbackHub::reset() {
  const std::lock_guard lock(mutex_);
  requests_.clear();
  faults_.clear();
}

void LoopbackHub::on_ended(std::function<void(const HubRequest&)> observer) {
  const std::lock_guard lock(mutex_);
  observer_ = std::move(observer);
}

LoopbackAnswer LoopbackHub::answer(HubHost host, LoopbackRequest request) {
  const std::lock_guard lock(mutex_);
  const auto record = std::make_shared<HubRequest>();
  record->method = request.method;
  record->host = host;
  record->target = request.target;
  record->headers = request.headers;
  requests_.push_back(record);

  const auto fault = take_fault(*record);
  if (fault && fault->change_request) fault->change_request(request);
  LoopbackAnswer answer = host == HubHost::api ? answer_api(request) : answer_storage(request);
  answer.bytes_per_second = bytes_per_second_;
  if (fault && fault->change_answer) fault->change_answer(answer);
  record->status = answer.status;
  answer.on_sending = [this, record](std::size_t sent, bool ended) { count_bytes(*record, sent, ended); };
  return answer;
}

std::optional<LoopbackFault> LoopbackHub::take_fault(const HubRequest& request) {
  const auto pending =
      std::find_if(faults_.begin(), faults_.end(), [&](const auto& each) { return fits(each.requests, request); });
  if (pending == faults_.end()) return std::nullopt;
  LoopbackFault fault = pending->fault;
  if (--pending->times == 0) faults_.erase(pending);
  return fault;
}

void LoopbackHub::count_bytes(HubRequest& request, std::size_t sent, bool ended) {
  const std::lock_guard lock(mutex_);
  request.body_bytes = sent;
  if (!ended || request.ended) return;
  request.ended = true;
  if (observer_) observer_(request);
}

LoopbackAnswer LoopbackHub::answer_api(const LoopbackRequest& request) {
  const Target target = parse_target(request.target);
  const auto& parts = target.parts;
  const auto is = [&](std::size_t place, std::string_view word) {
    return place < parts.size() && parts[place] == word;
  };
  const bool resolves = is(0, "datasets") && is(3, "resolve");
  const bool from_cache = is(0, "api") && is(1, "resolve-cache") && is(2, "datasets");
  const std::size_t at = resolves ? 1 : from_cache ? 3 : 2;
  if (parts.size() < at + 2 || !(resolves || from_cache || (is(0, "api") && is(1, "datasets")))) {
    return refusal(404, "", "Sorry, we can't find the page you are looking for.");
  }

  const std::string name = parts[at] + "/" + parts[at + 1];
  const auto found = repos_.find(name);
  LoopbackRepo* const repo = found == repos_.end() ? nullptr : &found->second;
  if (auto refused = refuse(request, name, repo, resolves || from_cache)) return *std::move(refused);
  if (is(4, "refs") && parts.size() == 5) return json_answer(repo->refs());

  const std::size_t revision_at = from_cache ? 5 : resolves ? 4 : 5;
  const bool is_info = parts.size() == 4 || is(4, "revision");
  if (parts.size() <= revision_at && parts.size() != 4) return refusal(404, "", "Not found");
  const std::string revision = parts.size() == 4 ? "main" : parts[revision_at];
  const auto snapshot = repo->find(revision);
  if (snapshot == nullptr) return refusal(404, "RevisionNotFound", "Invalid rev id: " + revision);
  const std::string path = joined(parts, revision_at + 1);
  if (resolves || from_cache) return answer_file(request, name, *snapshot, path, resolves);
  if (is_info) return json_answer(repo->info(name, *snapshot));
  if (is(4, "tree")) return tree_answer(api_->origin(), target, *repo, *snapshot, path);
  return refusal(404, "", "Not found");
}

std::optional<LoopbackAnswer> LoopbackHub::refuse(const LoopbackRequest& request, const std::string& name,
                                                  const LoopbackRepo* repo, bool asks_for_file) const {
  constexpr std::string_view scheme = "Bearer ";
  const auto header = request.headers.find("authorization");
  const bool has_token = header != request.headers.end();
  const std::string token =
      has_token && header->second.starts_with(scheme) ? header->second.substr(scheme.size()) : std::string();
  const auto opens = [&](const LoopbackRepo& each) { return !token.empty() && each.options().token == token; };
  const bool known = tokens_.contains(token) ||
                     std::any_of(repos_.begin(), repos_.end(), [&](const auto& each) { return opens(each.second); });
  if (has_token && !known) return refusal(401, "", "Invalid credentials in Authorization header");
  if (repo == nullptr || (repo->options().is_private && !opens(*repo))) {
    // Whoever may not see a repository is not told whether it is there.
    return has_token ? refusal(404, "RepoNotFound", "Repository not found")
                     : refusal(401, "", "Invalid username or password.");
  }
  if (repo->options().disabled) return refusal(403, "", "Access to this resource is disabled.");
  if (repo->options().gated && asks_for_file && !opens(*repo)) {
    const std::string message = fmt::format("Access to dataset {} is restricted.", name);
    return refusal(has_token ? 403 : 401, "GatedRepo", message);
  }
  return std::nullopt;
}

LoopbackAnswer LoopbackHub::answer_file(const LoopbackRequest& request, const std::string& repo,
                                        const LoopbackSnapshot& snapshot, const std::string& path,
                                        bool may_redirect) const {
  const auto found = snapshot.files.find(path);
  LoopbackAnswer answer =
      found == snapshot.files.end() ? refusal(404, "EntryNotFound", "Entry not found") : LoopbackAnswer{};
  answer.set_header("X-Repo-Commit", snapshot.commit);
  answer.set_header("RateLimit", "\"resolvers\";r=2999;t=120");
  answer.set_header("RateLimit-Policy", "\"fixed window\";\"resolvers\";q=3000;w=300");
  if (found == snapshot.files.end()) return answer;

  const LoopbackFile& file = *found->second;
  const HubRepoOptions& options = repos_.at(repo).options();
  if (file.large) {
    answer.status = 302;
    answer.set_header("X-Linked-Size", std::to_string(file.content.size()));
    answer.set_header("X-Linked-ETag", fmt::format("\"{}\"", file.etag));
    answer.set_header("Location", storage_address(file));
  } else if (may_redirect && !options.is_private && !options.gated && !file.content.empty()) {
    answer.status = 307;
    answer.set_header("Location", fmt::format("/api/resolve-cache/datasets/{}/{}/{}?{}=&etag=%22{}%22", repo,
                                              snapshot.commit, percent_encoded(path, "/"),
                                              percent_encoded(parse_target(request.target).path, ""), file.etag));
  } else {
    answer.set_header("ETag", fmt::format("\"{}\"", file.etag));
    answer.set_header("Content-Type", "text/plain; charset=utf-8");
    put_content(answer, request, file.content);
    return answer;
  }
  // A body whose length is not the file's, as the Hub sends one.
  answer.set_header("Content-Type", "text/plain; charset=utf-8");
  answer.body = "This file is elsewhere; see the header Location.";
  return answer;
}

std::string LoopbackHub::storage_address(const LoopbackFile& file) const {
  return fmt::format(
      "{}/repos/{}/{}?response-content-disposition=inline&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Expires=3600"
      "&X-Amz-Signature={}&x-id=GetObject",
      storage_origin_, file.etag.substr(0, 2), file.etag,
      file_etag(fmt::format("{} {}", file.etag, address_generation_), true));
}

LoopbackAnswer LoopbackHub::answer_storage(const LoopbackRequest& request) const {
  const auto xml = [](int status, std::string_view code) {
    LoopbackAnswer answer;
    answer.status = status;
    answer.headers = {{"Content-Type", "application/xml"}};
    answer.body = fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{}</Code></Error>", code);
    return answer;
  };
  // A signed address and a token are two ways to prove who asks; such storage takes one only.
  if (request.headers.contains("authorization")) return xml(400, "InvalidArgument");
  const Target target = parse_target(request.target);
  const auto found = target.parts.size() == 3 ? stored_.find(target.parts[2]) : stored_.end();
  if (found == stored_.end()) return xml(404, "NoSuchKey");
  const LoopbackFile& file = *found->second;
  if (storage_address(file) != storage_origin_ + request.target) return xml(403, "AccessDenied");

  LoopbackAnswer answer;
  // Not the file's SHA-256: storage knows a checksum of its own.
  answer.headers = {{"Content-Type", "application/octet-stream"},
                    {"ETag", fmt::format("\"{}\"", file.git_oid.substr(0, 32))}};
  put_content(answer, request, file.content);
  return answer;
}

}  // namespace attention_plasticity
