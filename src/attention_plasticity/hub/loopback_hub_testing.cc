#include "attention_plasticity/hub/loopback_hub_testing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "attention_plasticity/hub/http.h"
#include "attention_plasticity/json/json.h"

namespace attention_plasticity {
namespace {

LoopbackFault wrong_answer(std::function<void(LoopbackAnswer&)> change) { return {{}, std::move(change)}; }

// The bytes from `first` to before `end`.
struct ByteRange {
  std::size_t first;
  std::size_t end;
};

// The range of `Range: bytes=...` in a file of `size` bytes. Nothing for a header that is not one range. A range
// beyond the file begins at `size`.
std::optional<ByteRange> parse_range(std::string_view header, std::size_t size) {
  constexpr std::string_view unit = "bytes=";
  const auto dash = header.find('-');
  if (!header.starts_with(unit) || dash == std::string_view::npos) return std::nullopt;
  const std::string_view first_text = header.substr(unit.size(), dash - unit.size());
  const std::string_view last_text = header.substr(dash + 1);
  const auto first = parse_number(first_text);
  const auto last = parse_number(last_text);
  if (first_text.empty() && last) return ByteRange{size - std::min(*last, size), size};
  if (!first || (!last && !last_text.empty()) || (last && *last < *first)) return std::nullopt;
  return ByteRange{std::min(*first, size), last ? std::min(*last, size - 1) + 1 : size};
}

// An answer of the API.
LoopbackAnswer json_answer(std::string json) {
  LoopbackAnswer answer;
  answer.headers = {{"Content-Type", "application/json; charset=utf-8"},
                    {"RateLimit", "\"api\";r=499;t=120"},
                    {"RateLimit-Policy", "\"fixed window\";\"api\";q=500;w=300"}};
  answer.body = std::move(json);
  return answer;
}

// A refusal of the API. `message` may quote the request; characters that a header cannot hold become question marks.
LoopbackAnswer refusal(int status, std::string_view code, std::string message) {
  std::ranges::replace_if(message, [](char c) { return c < ' ' || c > '~'; }, '?');
  LoopbackAnswer answer = json_answer(json_text({{"error", message}}));
  answer.status = status;
  if (!code.empty()) answer.set_header("X-Error-Code", std::string(code));
  answer.set_header("X-Error-Message", message);
  return answer;
}

LoopbackAnswer storage_refusal(int status, std::string_view code) {
  LoopbackAnswer answer;
  answer.status = status;
  answer.headers = {{"Content-Type", "application/xml"}};
  answer.body = fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{}</Code></Error>", code);
  return answer;
}

// One page of a listing, with the address of the next page.
LoopbackAnswer tree_answer(const std::string& origin, const LoopbackTarget& target, const LoopbackRepo& repo,
                           const LoopbackSnapshot& snapshot, const std::string& folder) {
  const std::size_t most = repo.options().page_size;
  const LoopbackTreePage page = tree_page(snapshot, folder, target.is_true("recursive"), target.number("cursor", 0),
                                          std::min(target.number("limit", most), most));
  if (!page.has_folder) return refusal(404, "EntryNotFound", folder + " does not exist on " + snapshot.commit);
  LoopbackAnswer answer = json_answer(page.json);
  if (page.next > 0) {
    std::string next = origin + target.path + "?";
    for (const auto& [name, value] : target.query) {
      if (name != "cursor") next += fmt::format("{}={}&", name, percent_encoded(value, Slashes::encode));
    }
    answer.set_header("Link", fmt::format("<{}cursor={}>; rel=\"next\"", next, page.next));
  }
  return answer;
}

// Makes the content, or the part of it that the request asks for, the body of an answer.
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
    answer.body = content.substr(range->first, range->end - range->first);
    answer.set_header("Content-Range", fmt::format("bytes {}-{}/{}", range->first, range->end - 1, content.size()));
  }
}

bool fits(const HubRequestPattern& pattern, const HubRequest& request) {
  return (!pattern.host || *pattern.host == request.host) &&
         (pattern.method.empty() || pattern.method == request.method) &&
         request.target.find(pattern.target_part) != std::string::npos;
}

}  // namespace

LoopbackFault refuse_with(int status, std::vector<std::pair<std::string, std::string>> headers) {
  return wrong_answer([status, headers = std::move(headers)](LoopbackAnswer& answer) {
    answer.status = status;
    answer.headers = headers;
    answer.body = "refused by the test\n";
  });
}

LoopbackFault drop_after(std::size_t bytes) {
  return wrong_answer([bytes](LoopbackAnswer& answer) { answer.drop_after = bytes; });
}

LoopbackFault reset_after(std::size_t bytes) {
  return wrong_answer([bytes](LoopbackAnswer& answer) {
    answer.drop_after = bytes;
    answer.hard_drop = true;
  });
}

LoopbackFault stall_after(std::size_t bytes) {
  return wrong_answer([bytes](LoopbackAnswer& answer) { answer.stall_after = bytes; });
}

LoopbackFault slow_down_to(std::size_t bytes_per_second) {
  return wrong_answer([bytes_per_second](LoopbackAnswer& answer) { answer.bytes_per_second = bytes_per_second; });
}

LoopbackFault truncate_to(std::size_t bytes) {
  return wrong_answer([bytes](LoopbackAnswer& answer) { answer.body.resize(std::min(bytes, answer.body.size())); });
}

LoopbackFault flip_byte(std::size_t offset) {
  return wrong_answer([offset](LoopbackAnswer& answer) {
    if (answer.body.empty()) return;
    char& byte = answer.body[std::min(offset, answer.body.size() - 1)];
    byte = static_cast<char>(static_cast<unsigned char>(byte) ^ 1U);
  });
}

LoopbackFault ignore_range() {
  return {[](LoopbackRequest& request) { request.headers.erase("range"); }, {}};
}

LoopbackFault html_page() {
  return wrong_answer([](LoopbackAnswer& answer) {
    answer.status = 200;
    answer.headers = {{"Content-Type", "text/html; charset=utf-8"}};
    answer.body = "<!doctype html>\n<html><head><title>Sign in</title></head><body>Sign in to go on.</body></html>\n";
  });
}

LoopbackFault with_header(std::string name, std::string value) {
  return wrong_answer(
      [name = std::move(name), value = std::move(value)](LoopbackAnswer& answer) { answer.set_header(name, value); });
}

LoopbackFault with_body(std::string body) {
  return wrong_answer([body = std::move(body)](LoopbackAnswer& answer) { answer.body = body; });
}

LoopbackFault redirect_to(std::string location) {
  return wrong_answer([location = std::move(location)](LoopbackAnswer& answer) {
    answer.status = 302;
    answer.body.clear();
    answer.set_header("Location", location);
  });
}

LoopbackHub::LoopbackHub() {
  // The machine may have a proxy, which cannot reach loopback addresses.
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
  const LoopbackTarget target(request.target);
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
  const std::string path = target.rest(revision_at + 1);
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
    // The Hub does not tell whether a private repository exists.
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
    answer.set_header("Location",
                      fmt::format("/api/resolve-cache/datasets/{}/{}/{}?{}=&etag=%22{}%22", repo, snapshot.commit,
                                  percent_encoded(path, Slashes::keep),
                                  percent_encoded(LoopbackTarget(request.target).path, Slashes::encode), file.etag));
  } else {
    answer.set_header("ETag", fmt::format("\"{}\"", file.etag));
    answer.set_header("Content-Type", "text/plain; charset=utf-8");
    put_content(answer, request, file.content);
    return answer;
  }
  // As on the Hub, a redirect has a body, whose length differs from the file's.
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
  // Storage with signed addresses refuses a second form of authorization.
  if (request.headers.contains("authorization")) return storage_refusal(400, "InvalidArgument");
  const LoopbackTarget target(request.target);
  const auto found = target.parts.size() == 3 ? stored_.find(target.parts[2]) : stored_.end();
  if (found == stored_.end()) return storage_refusal(404, "NoSuchKey");
  const LoopbackFile& file = *found->second;
  if (storage_address(file) != storage_origin_ + request.target) return storage_refusal(403, "AccessDenied");

  LoopbackAnswer answer;
  // Not the file's SHA-256: storage has checksums of its own.
  answer.headers = {{"Content-Type", "application/octet-stream"},
                    {"ETag", fmt::format("\"{}\"", file.git_oid.substr(0, 32))}};
  put_content(answer, request, file.content);
  return answer;
}

}  // namespace attention_plasticity
