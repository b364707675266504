#include "attention_plasticity/store/store_refusal.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "attention_plasticity/base/text.h"

namespace attention_plasticity {
namespace {

bool has_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

}  // namespace

ErrorKind refusal_kind(std::string_view words) {
  // What follows the first line tells how a client came there, and may hold the words of other failures.
  const std::string text = lower_case(words.substr(0, words.find_first_of("\r\n")));
  if (has_any(text, {"no_such_bucket",
                     "nosuchbucket",
                     "bucket does not exist",
                     "bucket not found",
                     "containernotfound",
                     "container does not exist",
                     "container not found",
                     "access_denied",
                     "accessdenied",
                     "access denied",
                     "forbidden",
                     "permission",
                     "unauthorized",
                     "unauthenticated",
                     "invalid_access_key_id",
                     "invalidaccesskeyid",
                     "signature_does_not_match",
                     "signaturedoesnotmatch",
                     "invalid_client_token",
                     "unrecognized_client",
                     "expired_token",
                     "expiredtoken",
                     "http status 401",
                     "http status 403",
                     "http status code 401",
                     "http status code 403",
                     "no_response_body",
                     "authenticationfailed",
                     "failed to get token",
                     "authenticationexception",
                     "could not retrieve credentials",
                     "invalid_grant"})) {
    return ErrorKind::access;
  }
  if (has_any(text,
              {"path does not exist", "no_such_key", "nosuchkey", "not found", "http status 404", "no such file"}))
    return ErrorKind::input;
  if (has_any(text, {"unable to load lib", "cannot parse uri", "invalid uri", "unexpected query parameter",
                     "unrecognized", "invalid azure", "expected an"}))
    return ErrorKind::usage;
  return ErrorKind::network;
}

std::string refusal_text(std::string_view words) {
  constexpr std::size_t longest = 300;
  std::string line(words.substr(0, words.find_first_of("\r\n")));
  if (const std::size_t id = line.find(" (Request ID"); id != std::string::npos) line.resize(id);
  if (line.size() > longest) line.resize(longest);
  while (!line.empty() && (line.back() == '.' || line.back() == ' ')) line.pop_back();
  return line;
}

}  // namespace attention_plasticity
