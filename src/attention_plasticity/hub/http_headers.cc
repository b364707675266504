#include "attention_plasticity/hub/http_headers.h"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <limits>
#include <utility>

#include "attention_plasticity/base/text.h"

namespace attention_plasticity {
namespace {

using std::chrono::seconds;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Characters that names may hold (RFC 9110, section 5.6.2).
bool is_token_character(char c) {
  return is_digit(c) || is_letter(c) || (c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string::npos);
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// A number of digits only. From 2^64 on `value` is the largest 64-bit number and `is_exact` is false.
struct Digits {
  std::uint64_t value = 0;
  bool is_exact = true;
};
std::optional<Digits> parse_digits(std::string_view text) {
  if (text.empty() || !std::ranges::all_of(text, is_digit)) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return Digits{std::numeric_limits<std::uint64_t>::max(), false};
  return Digits{value, true};
}

std::optional<std::uint64_t> exact_number(std::string_view text) {
  const auto digits = parse_digits(text);
  return digits && digits->is_exact ? std::optional(digits->value) : std::nullopt;
}

seconds clamped_wait(std::uint64_t wait) {
  return seconds{std::min(wait, static_cast<std::uint64_t>(longest_asked_wait.count()))};
}

// Reads what Link and RateLimit have in common: lists of `;name=value` with plain or quoted values. Each function takes
// its item off the front of the text, after blanks. When it returns false or nothing, it takes only the blanks.
class FieldReader {
 public:
  explicit FieldReader(std::string_view text) : rest_(text) {}

  bool is_at_end() {
    skip_blanks();
    return rest_.empty();
  }

  bool take(char c) {
    skip_blanks();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // The text before `end`. Takes `end` too.
  std::optional<std::string_view> take_until(char end) {
    const std::size_t size = rest_.find(end);
    if (size == std::string_view::npos) return std::nullopt;
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size + 1);
    return taken;
  }

  std::optional<std::string> take_name() { return take_run(is_token_character); }

  // A plain or quoted value. Plain values may hold more characters than names: `text/html`, or bytes as `:YQ==:`.
  std::optional<std::string> take_value() {
    skip_blanks();
    if (rest_.empty() || rest_.front() != '"') {
      return take_run(
          [](char c) { return !is_control(c) && std::string_view(" ,;\"<>").find(c) == std::string::npos; });
    }
    std::string quoted;
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == '"') {
        rest_.remove_prefix(i + 1);
        return quoted;
      }
      if (rest_[i] == '\\') ++i;
      if (i < rest_.size()) quoted += rest_[i];
    }
    return std::nullopt;
  }

 private:
  // The longest run of characters that `is_of_kind` accepts. Nothing when it is empty.
  template <typename Kind>
  std::optional<std::string> take_run(Kind is_of_kind) {
    skip_blanks();
    std::string run(rest_.begin(), std::ranges::find_if_not(rest_, is_of_kind));
    if (run.empty()) return std::nullopt;
    rest_.remove_prefix(run.size());
    return run;
  }

  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size())); }

  std::string_view rest_;
};

// Parameters such as `;a=1;b="x";c` by name in lower case. Of equal names the first counts. Nothing when malformed.
std::optional<std::map<std::string, std::string>> take_parameters(FieldReader& reader) {
  std::map<std::string, std::string> parameters;
  while (reader.take(';')) {
    const auto name = reader.take_name();
    if (!name) return std::nullopt;
    std::string value;
    if (reader.take('=')) {
      const auto given = reader.take_value();
      if (!given) return std::nullopt;
      value = *given;
    }
    parameters.emplace(lower_case(*name), std::move(value));
  }
  return parameters;
}

// A rel parameter holds one or several relations, separated by blanks.
bool names_next(std::string_view relations) {
  const std::string lower = lower_case(relations);
  for (std::size_t begin = 0; begin < lower.size();) {
    const std::size_t end = std::min(lower.find_first_of(" \t", begin), lower.size());
    if (std::string_view(lower).substr(begin, end - begin) == "next") return true;
    begin = end + 1;
  }
  return false;
}

std::optional<seconds> parse_retry_after(std::string_view header, std::chrono::system_clock::time_point now) {
  const std::string_view text = trimmed_text(header);
  if (const auto wait = parse_digits(text)) return clamped_wait(wait->value);
  const std::time_t date = curl_getdate(std::string(text).c_str(), nullptr);
  if (date == -1) return std::nullopt;
  // Whole seconds: the year 9999 in the clock's nanoseconds does not fit into 64 bits.
  const seconds wait = seconds{date} - std::chrono::floor<seconds>(now).time_since_epoch();
  return std::clamp(wait, seconds{0}, longest_asked_wait);
}

// A list of items such as `"api";r=0;t=55` (draft-ietf-httpapi-ratelimit-headers-09, section 4).
std::optional<seconds> parse_rate_limit(std::string_view header) {
  FieldReader reader(header);
  std::optional<seconds> longest;
  do {
    const auto policy = reader.take_value();
    const auto parameters = take_parameters(reader);
    if (!policy || !parameters) return std::nullopt;
    const auto number = [&](const char* name) {
      const auto found = parameters->find(name);
      return found == parameters->end() ? std::nullopt : parse_digits(found->second);
    };
    const auto left = number("r");
    const auto reset = number("t");
    if (!left || left->value != 0 || !reset) continue;
    const seconds wait = clamped_wait(reset->value);
    if (!longest || wait > *longest) longest = wait;
  } while (reader.take(','));
  return reader.is_at_end() ? longest : std::nullopt;
}

}  // namespace

void HttpHeaders::add_line(std::string_view line) {
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return;
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = trimmed_text(line.substr(colon + 1));
  if (!std::ranges::all_of(name, is_token_character)) return;
  if (std::ranges::any_of(value, [](char c) { return is_control(c) && c != '\t'; })) return;
  std::string& whole = values_[lower_case(name)];
  if (!whole.empty() && !value.empty()) whole += ", ";
  whole += value;
}

std::optional<std::string_view> HttpHeaders::find(std::string_view name) const {
  const auto found = values_.find(lower_case(name));
  if (found == values_.end()) return std::nullopt;
  return found->second;
}

std::string entity_tag(std::string_view header) {
  std::string_view tag = trimmed_text(header);
  std::string_view quoted = tag;
  if (quoted.starts_with("W/")) quoted.remove_prefix(2);
  const bool is_quoted = quoted.size() >= 2 && quoted.front() == '"' && quoted.back() == '"';
  if (is_quoted) tag = quoted.substr(1, quoted.size() - 2);
  return std::string(tag);
}

std::optional<std::string> next_page(std::string_view link) {
  FieldReader reader(link);
  do {
    if (!reader.take('<')) return std::nullopt;
    const auto address = reader.take_until('>');
    const auto parameters = take_parameters(reader);
    if (!address || !parameters) return std::nullopt;
    const auto relation = parameters->find("rel");
    if (relation == parameters->end() || !names_next(relation->second)) continue;
    const bool is_address =
        !address->empty() && std::ranges::none_of(*address, [](char c) { return is_control(c) || c == ' '; });
    return is_address ? std::optional<std::string>(*address) : std::nullopt;
  } while (reader.take(','));
  return std::nullopt;
}

std::optional<ContentRange> parse_content_range(std::string_view header) {
  const std::string_view text = trimmed_text(header);
  constexpr std::string_view unit = "bytes ";
  const std::size_t dash = text.find('-');
  const std::size_t slash = text.find('/');
  if (lower_case(text.substr(0, unit.size())) != unit || slash == std::string_view::npos || dash > slash) {
    return std::nullopt;
  }
  const auto first = exact_number(text.substr(unit.size(), dash - unit.size()));
  const auto last = exact_number(text.substr(dash + 1, slash - dash - 1));
  const std::string_view total_text = text.substr(slash + 1);
  const auto total = exact_number(total_text);
  if (!first || !last || *first > *last || *last == std::numeric_limits<std::uint64_t>::max()) return std::nullopt;
  if (total ? *total <= *last : total_text != "*") return std::nullopt;
  return ContentRange{*first, *last, total};
}

std::optional<std::uint64_t> parse_size(std::string_view header) { return exact_number(trimmed_text(header)); }

std::optional<seconds> asked_wait(const HttpHeaders& headers, std::chrono::system_clock::time_point now) {
  if (const auto retry_after = headers.find("Retry-After")) {
    if (const auto wait = parse_retry_after(*retry_after, now)) return wait;
  }
  const auto rate_limit = headers.find("RateLimit");
  return rate_limit ? parse_rate_limit(*rate_limit) : std::nullopt;
}

}  // namespace attention_plasticity
