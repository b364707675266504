#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace attention_plasticity {

// What servers send is read strictly, and nothing here throws: what is malformed counts as not sent.

/// The headers of one response. Names compare without case; several lines of one name become one value, with commas.
class HttpHeaders {
 public:
  /// One line as it was received. What is no `Name: value` is left out, and so are values with control characters.
  void add_line(std::string_view line);
  void clear() { values_.clear(); }
  std::optional<std::string_view> find(std::string_view name) const;

 private:
  std::map<std::string, std::string> values_;  // by name in lower case
};

/// `"x"` and `W/"x"` are x; what has no quotes around it stays as it is.
std::string entity_tag(std::string_view header);

/// Where the next page of a listing is: the address of rel="next" in a Link header, as it stands there.
std::optional<std::string> next_page(std::string_view link);

/// `bytes 100-199/1000`. `first` <= `last`, and `last` + 1 is a number too.
struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::optional<std::uint64_t> total;  ///< above `last`; none: the server does not know
};
std::optional<ContentRange> parse_content_range(std::string_view header);

/// A number of bytes, as Content-Length and X-Linked-Size give it; none for anything else.
std::optional<std::uint64_t> parse_size(std::string_view header);

/// What a longer wait counts as: nobody sits through it.
inline constexpr std::chrono::seconds longest_asked_wait = std::chrono::hours{24};

/// How long the server asks to be left alone: Retry-After, in seconds or as a date, else the longest RateLimit whose
/// quota is used up. Between 0 and longest_asked_wait; none when it does not ask.
std::optional<std::chrono::seconds> asked_wait(const HttpHeaders& headers, std::chrono::system_clock::time_point now);

}  // namespace attention_plasticity
