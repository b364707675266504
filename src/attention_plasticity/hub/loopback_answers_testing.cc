#include "attention_plasticity/hub/loopback_answers_testing.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "attention_plasticity/hub/http_headers.h"
#include "attention_plasticity/hub/url.h"
#include "attention_plasticity/json/json.h"

namespace attention_plasticity {
namespace {

/// The bytes from `first` to before `end`.
struct ByteRange {
  std::size_t first;
  std::size_t end;
};

/// The range of `Range: bytes=...` in a file of `size` bytes. Nothing for a header that is not one range. A range
/// beyond the file begins at `size`.
std::optional<ByteRange> parse_range(std::string_view header, std::size_t size) {
  constexpr std::string_view unit = "bytes=";
  const auto dash = header.find('-');
  if (!header.starts_with(unit) || dash == std::string_view::npos) return std::nullopt;
  const std::string_view first_text = header.substr(unit.size(), dash - unit.size());
  const std::string_view last_text = header.substr(dash + 1);
  const auto first = parse_size(first_text);
  const auto last = parse_size(last_text);
  if (first_text.empty() && last) return ByteRange{size - std::min(*last, size), size};
  if (!first || (!last && !last_text.empty()) || (last && *last < *first)) return std::nullopt;
  return ByteRange{std::min(*first, size), last ? std::min(*last, size - 1) + 1 : size};
}

}  // namespace

LoopbackAnswer json_answer(std::string json) {
  LoopbackAnswer answer;
  answer.headers = {{"Content-Type", "application/json; charset=utf-8"},
                    {"RateLimit", "\"api\";r=499;t=120"},
                    {"RateLimit-Policy", "\"fixed window\";\"api\";q=500;w=300"}};
  answer.body = std::move(json);
  return answer;
}

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

}  // namespace attention_plasticity
