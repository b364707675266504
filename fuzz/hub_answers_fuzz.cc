// For any bytes that a server sends, the parsers of its answers return a checked result or throw Error. No path in a
// result leaves the cache's folder. The first byte selects the parser.

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/hub/answers.h"

namespace ap = attention_plasticity;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

bool is_on_one_line(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

// Reads the first line as a status and the others as headers of one answer.
void read_headers(std::string_view block) {
  ap::HttpResponse response;
  response.status = 400;
  for (std::string_view rest = block; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    std::from_chars(line.data(), line.data() + line.size(), response.status);
    const std::size_t colon = std::min(line.find(':'), line.size());
    const std::string_view value = line.substr(std::min(colon + 2, line.size()));
    response.headers[ap::lower_case(line.substr(0, colon))] = value;
    require(ap::entity_tag(value).size() <= value.size());
    ap::next_page(value);
  }
  for (const bool has_token : {false, true}) {
    const ap::HubQuestion question{"https://hub.test", "org/name", "main", "a.parquet", has_token};
    require(is_on_one_line(ap::refusal_error(question, response).what()));
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
