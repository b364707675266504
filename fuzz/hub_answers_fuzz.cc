// For any bytes that a server sends, the parsers of its answers return a checked result or throw Error. No path in a
// result leaves the cache's folder. The first byte selects the parser.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "attention_plasticity/error.h"
#include "attention_plasticity/hub/http_headers.h"
#include "attention_plasticity/hub/listing.h"
#include "attention_plasticity/hub/refusal.h"

namespace ap = attention_plasticity;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

bool is_on_one_line(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

// Reads the lines as the status and the headers of one response. Every value goes to every parser of values.
void read_headers(std::string_view block) {
  const auto now = std::chrono::system_clock::time_point{std::chrono::sys_days{std::chrono::year{2030} / 1 / 1}};
  ap::HttpHeaders headers;
  int status = 400;
  for (std::string_view rest = block; !rest.empty();) {
    const std::size_t size = std::min(rest.find('\n'), rest.size() - 1) + 1;
    const std::string_view line = rest.substr(0, size);
    rest.remove_prefix(size);
    if (const auto number = ap::parse_size(line)) status = static_cast<int>(*number % 1000);
    headers.add_line(line);
    ap::entity_tag(line);
    if (const auto page = ap::next_page(line)) require(!page->empty() && is_on_one_line(*page));
    if (const auto range = ap::parse_content_range(line)) {
      require(range->first <= range->last && range->last + 1 > range->last);
      require(!range->total || *range->total > range->last);
    }
  }
  for (const char* const name : {"Link", "ETag", "X-Linked-Etag", "X-Linked-Size", "Content-Length", "Content-Range"}) {
    const auto value = headers.find(name);
    if (!value) continue;
    ap::entity_tag(*value);
    ap::next_page(*value);
    ap::parse_size(*value);
    ap::parse_content_range(*value);
  }
  if (const auto wait = ap::asked_wait(headers, now)) {
    require(*wait >= std::chrono::seconds{0} && *wait <= ap::longest_asked_wait);
  }
  for (const bool has_token : {false, true}) {
    const ap::HubQuestion question{"https://hub.test", "org/name", "main", "a.parquet", has_token};
    require(is_on_one_line(ap::refusal_error(question, status, headers, now).what()));
  }
}

void read_revision_info(std::string_view text) {
  const ap::RevisionInfo info = ap::parse_revision_info(text);
  require(ap::is_commit(info.commit) && std::ranges::all_of(info.paths, ap::is_inside_folder));
}

void read_tree_page(std::string_view text) {
  for (const ap::RepoFile& file : ap::parse_tree_page(text)) {
    require(ap::is_inside_folder(file.path) && file.etag.size() == (file.is_large ? 64 : 40));
    require(file.etag.find_first_not_of("0123456789abcdef") == std::string::npos);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    switch (data[0] % 4) {
      case 0:
        read_headers(text);
        break;
      case 1:
        read_revision_info(text);
        break;
      case 2:
        read_tree_page(text);
        break;
      default:
        ap::parse_refs(text);
    }
  } catch (const ap::Error& error) {
    require(is_on_one_line(error.what()));
  }
  return 0;
}
