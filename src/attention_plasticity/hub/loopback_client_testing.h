#pragma once

#include <curl/curl.h>

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attention_plasticity/base/text.h"

namespace attention_plasticity {

/// For tests: an answer as the client received it.
struct SeenAnswer {
  CURLcode outcome = CURLE_OK;
  long status = 0;
  std::map<std::string, std::string> headers;  // by name in lower case
  std::string body;

  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

/// For tests of LoopbackHub: a client that shares no code with HubClient, which LoopbackHub is there to test. It does
/// not follow redirects. `patience` is the longest time for one exchange.
class LoopbackClient {
 public:
  explicit LoopbackClient(std::chrono::milliseconds patience = std::chrono::seconds(30))
      : patience_(patience), handle_(curl_easy_init(), curl_easy_cleanup) {}

  SeenAnswer get(const std::string& url, const std::vector<std::string>& headers = {}) {
    return ask(url, headers, false);
  }
  SeenAnswer head(const std::string& url, const std::vector<std::string>& headers = {}) {
    return ask(url, headers, true);
  }

 private:
  static std::size_t take_body(char* bytes, std::size_t size, std::size_t count, void* seen) {
    static_cast<SeenAnswer*>(seen)->body.append(bytes, size * count);
    return size * count;
  }

  static std::size_t take_header(char* bytes, std::size_t size, std::size_t count, void* seen) {
    const std::string line(bytes, size * count);
    if (const auto colon = line.find(": "); colon != std::string::npos) {
      const std::string name = lower_case(line.substr(0, colon));
      static_cast<SeenAnswer*>(seen)->headers[name] = line.substr(colon + 2, line.find("\r\n") - colon - 2);
    }
    return size * count;
  }

  SeenAnswer ask(const std::string& url, const std::vector<std::string>& headers, bool head_only) {
    SeenAnswer seen;
    curl_slist* list = nullptr;
    for (const std::string& header : headers) list = curl_slist_append(list, header.c_str());
    CURL* const curl = handle_.get();
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(curl, CURLOPT_NOBODY, head_only ? 1L : 0L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(patience_.count()));
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &LoopbackClient::take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &seen);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &LoopbackClient::take_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &seen);
    seen.outcome = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &seen.status);
    curl_slist_free_all(list);
    return seen;
  }

  std::chrono::milliseconds patience_;
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle_;
};

}  // namespace attention_plasticity
