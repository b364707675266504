#include "attention_plasticity/hub/http.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <new>

#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/version.h"

namespace attention_plasticity {
namespace {

constexpr int between_looks_ms = 100;
// Bytes per second: an answer that stays slower for its stall_timeout is given up.
constexpr long least_rate = 1024;
constexpr long most_redirects = 10;
constexpr std::int64_t longest_asked_wait = 86'400;  // seconds: a longer wait is cut to this one

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using ParsedUrl = std::unique_ptr<CURLU, FreeUrl>;

struct FreeText {
  void operator()(char* text) const { curl_free(text); }
};
using CurlText = std::unique_ptr<char, FreeText>;

// Null when the address has no such part.
CurlText part_of(const ParsedUrl& url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  curl_url_get(url.get(), part, &text, flags);
  return CurlText(text);
}

// Null when it cannot be parsed.
ParsedUrl parsed(const std::string& address) {
  ParsedUrl url(curl_url());
  if (!url || curl_url_set(url.get(), CURLUPART_URL, address.c_str(), 0) != CURLUE_OK) return nullptr;
  return url;
}

std::string lower_case_part(const ParsedUrl& url, CURLUPart part, unsigned flags = 0) {
  const CurlText text = part_of(url, part, flags);
  return text ? lower_case(text.get()) : std::string();
}

// The headers of one answer of a transfer: 0 is the first, -1 the latest.
HttpHeaders headers_of(CURL* easy, int answer) {
  HttpHeaders headers;
  curl_header* header = nullptr;
  while ((header = curl_easy_nextheader(easy, CURLH_HEADER, answer, header)) != nullptr) {
    std::string& whole = headers[lower_case(header->name)];
    if (!whole.empty()) whole += ", ";
    whole += header->value;
  }
  return headers;
}

template <typename T>
T info_of(CURL* easy, CURLINFO info) {
  T value{};
  curl_easy_getinfo(easy, info, &value);
  return value;
}

// The seconds to wait in Retry-After, or, with status 429, in `RateLimit: "api";r=0;t=55`, which the Hub sends in its
// place.
std::optional<std::chrono::seconds> asked_wait(CURL* easy, int status, const HttpHeaders& headers) {
  auto seconds = static_cast<std::int64_t>(info_of<curl_off_t>(easy, CURLINFO_RETRY_AFTER));
  if (seconds == 0 && status == 429) {
    const std::string_view limit = header_value(headers, "ratelimit");
    const std::size_t time = std::min(limit.find(";t="), limit.size());
    const std::string_view digits = limit.substr(std::min(time + 3, limit.size()));
    std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
  }
  if (seconds <= 0) return std::nullopt;
  return std::chrono::seconds(std::min(seconds, longest_asked_wait));
}

// Known once the headers have arrived.
HttpResponse response_of(CURL* easy) {
  HttpResponse response;
  response.status = static_cast<int>(info_of<long>(easy, CURLINFO_RESPONSE_CODE));
  response.headers = headers_of(easy, -1);
  response.url = info_of<const char*>(easy, CURLINFO_EFFECTIVE_URL);
  const long redirects = info_of<long>(easy, CURLINFO_REDIRECT_COUNT);
  for (int i = 0; i < redirects; ++i) response.redirects.push_back(headers_of(easy, i));
  response.asked_wait = asked_wait(easy, response.status, response.headers);
  return response;
}

// The data of one transfer, for its callback.
struct Transfer {
  CURL* easy;
  const BodySink& body;
  std::optional<HttpResponse> response = {};
  std::exception_ptr failure = {};  // of the callback: exceptions must not pass through C code
};

std::size_t on_body(char* bytes, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  try {
    if (!transfer.response) transfer.response = response_of(transfer.easy);
    transfer.body(*transfer.response, {bytes, size * count});
    return size * count;
  } catch (...) {
    transfer.failure = std::current_exception();
    return 0;
  }
}

bool is_lasting(CURLcode code) {
  switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
      return true;
    default:
      return false;
  }
}

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, FreeList>;

HeaderList header_list(const HttpRequest& request) {
  HeaderList list;
  const auto add = [&](const std::string& line) {
    curl_slist* const longer = curl_slist_append(list.get(), line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    // Appending to a list keeps its head.
    if (!list) list.reset(longer);
  };
  if (!request.token.empty()) add(fmt::format("Authorization: Bearer {}", request.token));
  if (request.first_byte) add(fmt::format("Range: bytes={}-", *request.first_byte));
  return list;
}

void initialize_curl() {
  static const CURLcode done = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (done != CURLE_OK) throw ConnectionFailure(curl_easy_strerror(done), true);
}

}  // namespace

std::optional<UrlParts> url_parts(const std::string& url) {
  const ParsedUrl parts = parsed(url);
  if (!parts) return std::nullopt;
  return UrlParts{lower_case_part(parts, CURLUPART_SCHEME), lower_case_part(parts, CURLUPART_HOST),
                  lower_case_part(parts, CURLUPART_PORT, CURLU_DEFAULT_PORT),
                  part_of(parts, CURLUPART_USER) || part_of(parts, CURLUPART_PASSWORD)};
}

std::string resolved_url(const std::string& base, const std::string& reference) {
  const ParsedUrl url = parsed(base);
  if (!url || curl_url_set(url.get(), CURLUPART_URL, reference.c_str(), 0) != CURLUE_OK) return {};
  const CurlText whole = part_of(url, CURLUPART_URL);
  return whole ? whole.get() : "";
}

bool have_same_origin(const std::string& a, const std::string& b) {
  const auto first = url_parts(a);
  const auto second = url_parts(b);
  return first && second && first->scheme == second->scheme && first->host == second->host &&
         first->port == second->port;
}

std::string url_host(const std::string& url) {
  const auto parts = url_parts(url);
  return parts ? shown_text(parts->host) : "the address";
}

std::string percent_encoded(std::string_view text, Slashes slashes) {
  const CurlText encoded(curl_easy_escape(nullptr, std::string(text).c_str(), static_cast<int>(text.size())));
  if (!encoded) throw std::bad_alloc();
  std::string result = encoded.get();
  if (slashes == Slashes::encode) return result;
  // A percent sign of the text is %25 by now, so that each %2F was a slash.
  for (std::size_t at = 0; (at = result.find("%2F", at)) != std::string::npos; ++at) result.replace(at, 3, 1, '/');
  return result;
}

std::string_view header_value(const HttpHeaders& headers, const std::string& name) {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string_view() : found->second;
}

struct HttpConnection::Handle {
  explicit Handle(const HubSettings& settings) {
    initialize_curl();
    multi.reset(curl_multi_init());
    easy.reset(curl_easy_init());
    if (!multi || !easy) throw std::bad_alloc();
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_FOLLOWLOCATION, 1L);
    set(CURLOPT_MAXREDIRS, most_redirects);
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_USERAGENT, fmt::format("attention-plasticity/{}", program_version().version).c_str());
    set(CURLOPT_CONNECTTIMEOUT, static_cast<long>(settings.answer_timeout.count()));
    set(CURLOPT_LOW_SPEED_LIMIT, least_rate);
    set(CURLOPT_BUFFERSIZE, 256L * 1024);
    set(CURLOPT_ERRORBUFFER, reason.data());
    set(CURLOPT_WRITEFUNCTION, &on_body);
    if (!settings.ca_file.empty()) set(CURLOPT_CAINFO, settings.ca_file.c_str());
    if (!settings.ca_folder.empty()) set(CURLOPT_CAPATH, settings.ca_folder.c_str());
  }

  template <typename T>
  void set(CURLoption option, T value) {
    if (curl_easy_setopt(easy.get(), option, value) == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
  }

  std::string reason_of(CURLcode code) const { return reason[0] != '\0' ? reason.data() : curl_easy_strerror(code); }

  // Like curl_easy_perform, but throws Stopped after a stop request, also while nothing arrives.
  CURLcode perform(const std::stop_token& stop) {
    curl_multi_add_handle(multi.get(), easy.get());
    CURLMcode failed = CURLM_OK;
    int running = 1;
    while (running > 0 && failed == CURLM_OK && !stop.stop_requested()) {
      failed = curl_multi_perform(multi.get(), &running);
      if (failed == CURLM_OK && running > 0)
        failed = curl_multi_poll(multi.get(), nullptr, 0, between_looks_ms, nullptr);
    }
    CURLcode code = CURLE_OUT_OF_MEMORY;
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi.get(), &left)) {
      if (message->msg == CURLMSG_DONE) code = message->data.result;
    }
    curl_multi_remove_handle(multi.get(), easy.get());
    if (running > 0) throw_if_stopped(stop);
    return code;
  }

  struct FreeMulti {
    void operator()(CURLM* handle) const { curl_multi_cleanup(handle); }
  };
  struct FreeEasy {
    void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  };
  std::unique_ptr<CURLM, FreeMulti> multi;  // keeps connections
  std::unique_ptr<CURL, FreeEasy> easy;
  std::array<char, CURL_ERROR_SIZE> reason{};
};

HttpConnection::HttpConnection(const HubSettings& settings) : handle_(std::make_unique<Handle>(settings)) {}
HttpConnection::~HttpConnection() = default;

HttpResponse HttpConnection::get(const HttpRequest& request, const BodySink& body, const std::stop_token& stop) {
  throw_if_stopped(stop);
  CURL* const easy = handle_->easy.get();
  Transfer transfer{easy, body};
  const HeaderList headers = header_list(request);
  const bool is_encrypted = request.url.starts_with("https:");
  handle_->reason[0] = '\0';
  handle_->set(CURLOPT_URL, request.url.c_str());
  handle_->set(CURLOPT_REDIR_PROTOCOLS_STR, is_encrypted ? "https" : "http,https");
  // libcurl sends Authorization to the first scheme, host and port only.
  handle_->set(CURLOPT_HTTPHEADER, headers.get());
  handle_->set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(request.stall_timeout.count()));
  handle_->set(CURLOPT_WRITEDATA, &transfer);

  const CURLcode code = handle_->perform(stop);
  if (transfer.failure) std::rethrow_exception(transfer.failure);
  if (code == CURLE_TOO_MANY_REDIRECTS) {
    throw Error(ErrorKind::network,
                fmt::format("{} redirects more than {} times", url_host(request.url), most_redirects));
  }
  if (code == CURLE_UNSUPPORTED_PROTOCOL) {
    throw Error(ErrorKind::network,
                fmt::format("{} redirects to an address that is not of {}, which is not followed; check HF_ENDPOINT",
                            url_host(request.url), is_encrypted ? "https" : "http or https"));
  }
  if (code != CURLE_OK) {
    const char* const url = info_of<const char*>(easy, CURLINFO_EFFECTIVE_URL);
    throw ConnectionFailure(fmt::format("{}: {}", url_host(url), handle_->reason_of(code)), is_lasting(code));
  }
  return transfer.response ? *std::move(transfer.response) : response_of(easy);
}

}  // namespace attention_plasticity
