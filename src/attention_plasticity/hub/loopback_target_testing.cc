#include "attention_plasticity/hub/loopback_target_testing.h"

#include <curl/curl.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/hub/http_headers.h"

namespace attention_plasticity {
namespace {

std::string percent_decoded(std::string_view text) {
  int size = 0;
  char* const decoded = curl_easy_unescape(nullptr, std::string(text).c_str(), static_cast<int>(text.size()), &size);
  std::string result(decoded, static_cast<std::size_t>(size));
  curl_free(decoded);
  return result;
}

// Takes the text before `separator` off the front of `rest`.
std::string_view take_until(std::string_view& rest, char separator) {
  const std::string_view taken = rest.substr(0, rest.find(separator));
  rest.remove_prefix(std::min(taken.size() + 1, rest.size()));
  return taken;
}

}  // namespace

LoopbackTarget::LoopbackTarget(std::string_view text) {
  std::string_view folders = take_until(text, '?');
  path = folders;
  take_until(folders, '/');
  while (!folders.empty()) parts.push_back(percent_decoded(take_until(folders, '/')));
  while (!text.empty()) {
    std::string_view value = take_until(text, '&');
    const std::string name = percent_decoded(take_until(value, '='));
    query[name] = percent_decoded(value);
  }
}

std::string LoopbackTarget::rest(std::size_t first) const {
  return first < parts.size()
             ? fmt::format("{}", fmt::join(parts.begin() + static_cast<std::ptrdiff_t>(first), parts.end(), "/"))
             : "";
}

bool LoopbackTarget::is_true(const std::string& name) const {
  const auto found = query.find(name);
  return found != query.end() && lower_case(found->second) == "true";
}

std::size_t LoopbackTarget::number(const std::string& name, std::size_t otherwise) const {
  const auto found = query.find(name);
  return found == query.end() ? otherwise : parse_size(found->second).value_or(otherwise);
}

}  // namespace attention_plasticity
