#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace attention_plasticity {

// Parsers of the headers that servers send. They do not throw: a malformed header counts as missing.

/// The headers of one response. The case of names does not matter. Lines with the same name are joined with commas.
class HttpHeaders {
 public:
  /// Adds a line as it was received. Ignores lines that are not `Name: value`, and values with control characters.
  void add_line(std::string_view line);
  void clear() { values_.clear(); }
  std::optional<std::string_view> find(std::string_view name) const;

 private:
  std::map<std::string, std::string> values_;  // by name in lower case
};

/// An entity tag without its quotes: x for `"x"` and `W/"x"`. Text without quotes is returned unchanged.
std::string entity_tag(std::string_view header);

/// The address of the next page of a listing: that of rel="next" in a Link header. It may be relative.
std::optional<std::string> next_page(std::string_view link);

/// A Content-Range such as `bytes 100-199/1000`. `first` <= `last`, and `last` + 1 does not overflow.
struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::optional<std::uint64_t> total;  ///< size of the whole file, above `last`; nothing when the server sends `*`
};
std::optional<ContentRange> parse_content_range(std::string_view header);

/// A number of bytes, as in Content-Length and X-Linked-Size. Nothing for other text and for numbers of 2^64 and more.
std::optional<std::uint64_t> parse_size(std::string_view header);

/// A longer wait is cut to this one.
inline constexpr std::chrono::seconds longest_asked_wait = std::chrono::hours{24};

/// How long the server asks the client to wait: Retry-After, in seconds or as a date, otherwise the longest reset time
/// in RateLimit of a quota that is used up. From 0 to longest_asked_wait; nothing when the server does not ask.
std::optional<std::chrono::seconds> asked_wait(const HttpHeaders& headers, std::chrono::system_clock::time_point now);

}  // namespace attention_plasticity
