#include "attention_plasticity/hub/http.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <array>
#include <exception>

#include "attention_plasticity/hub/url.h"
#include "attention_plasticity/version.h"

namespace attention_plasticity {
namespace {

constexpr int between_looks_ms = 100;
// Bytes per second: an answer that stays slower for its stall_timeout is given up.
constexpr long least_rate = 1024;
// Of all headers of an answer. The Hub sends some kilobytes.
constexpr std::size_t most_header_bytes = std::size_t{1} << 20U;

// The data of one transfer, shared by its callbacks.
struct Transfer {
  CURL* easy;
  const BodySink& body;
  HttpResponse response;
  std::exception_ptr failure;  // of a callback: exceptions must not pass through C code
  std::size_t header_bytes = 0;
};

std::size_t on_header(char* bytes, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::string_view line(bytes, size * count);
  try {
    // A second status line follows an interim answer (1xx), whose headers do not count.
    if (line.starts_with("HTTP/")) transfer.response.headers.clear();
    transfer.header_bytes += line.size();
    if (transfer.header_bytes > most_header_bytes)
      throw ConnectionFailure("the headers of the answer have no end", true);
    transfer.response.headers.add_line(line);
    return line.size();
  } catch (...) {
    transfer.failure = std::current_exception();
    return 0;
  }
}

// Known once the headers have arrived.
int status_of(CURL* easy) {
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  return static_cast<int>(status);
}

std::size_t on_body(char* bytes, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  try {
    transfer.response.status = status_of(transfer.easy);
    transfer.body(transfer.response, {bytes, size * count});
    return size * count;
  } catch (...) {
    transfer.failure = std::current_exception();
    return 0;
  }
}

bool is_lasting(CURLcode code) {
  switch (code) {
    case CURLE_UNSUPPORTED_PROTOCOL:
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

struct HttpConnection::Handle {
  explicit Handle(const HubSettings& settings) {
    initialize_curl();
    multi.reset(curl_multi_init());
    easy.reset(curl_easy_init());
    if (!multi || !easy) throw std::bad_alloc();
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_USERAGENT, fmt::format("attention-plasticity/{}", program_version().version).c_str());
    set(CURLOPT_CONNECTTIMEOUT, static_cast<long>(settings.answer_timeout.count()));
    set(CURLOPT_LOW_SPEED_LIMIT, least_rate);
    set(CURLOPT_BUFFERSIZE, 256L * 1024);
    set(CURLOPT_ERRORBUFFER, reason.data());
    set(CURLOPT_HEADERFUNCTION, &on_header);
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
  Transfer transfer{handle_->easy.get(), body, {}, {}, 0};
  const HeaderList headers = header_list(request);
  handle_->reason[0] = '\0';
  handle_->set(CURLOPT_URL, request.url.c_str());
  handle_->set(CURLOPT_HTTPHEADER, headers.get());
  handle_->set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(request.stall_timeout.count()));
  handle_->set(CURLOPT_HEADERDATA, &transfer);
  handle_->set(CURLOPT_WRITEDATA, &transfer);

  const CURLcode code = handle_->perform(stop);
  if (transfer.failure) std::rethrow_exception(transfer.failure);
  if (code != CURLE_OK) {
    throw ConnectionFailure(fmt::format("{}: {}", url_host(request.url), handle_->reason_of(code)), is_lasting(code));
  }
  transfer.response.status = status_of(handle_->easy.get());
  return std::move(transfer.response);
}

}  // namespace attention_plasticity
