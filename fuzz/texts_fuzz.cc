// Any bytes as texts to capture. The first byte selects: 0 a .jsonl, 1 a .txt, 2 a Parquet file.

#include <array>
#include <filesystem>
#include <fstream>
#include <vector>

#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/base/utf8.h"
#include "attention_plasticity/capture/texts.h"
#include "target.h"

namespace ap = attention_plasticity;
using ap::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  constexpr std::array<const char*, 3> names{"a.jsonl", "a.txt", "a.parquet"};
  // A file of each kind is a link to the bytes in memory, since its name tells the kind.
  static const ap::TemporaryFolder folder;
  const ap::fuzz::MemoryFile bytes(ap::fuzz::text_of(data + 1, size - 1));
  const std::filesystem::path file = folder / names[data[0] % names.size()];
  std::error_code missing;
  std::filesystem::remove(file, missing);
  std::filesystem::create_symlink(bytes.path(), file);
  // Low limits, which a short input reaches too.
  const ap::TextOptions options{.most_text_bytes = 1 << 20, .most_bytes = 4 << 20};
  std::vector<ap::Text> all;
  const bool taken = ap::fuzz::succeeds([&] { all = ap::read_texts(file.string(), options); });
  std::size_t held = 0;
  for (const ap::Text& text : all) {
    require(!text.text.empty() && ap::is_utf8(text.text) && text.place.starts_with(file.string()));
    held += text.text.size();
  }
  require(held <= options.most_bytes);
  ap::TextOptions first = options;
  first.max_documents = 1;
  std::vector<ap::Text> one;
  const bool has_one = ap::fuzz::succeeds([&] { one = ap::read_texts(file.string(), first); });
  require(!taken || (has_one && one.size() == 1 && one[0].text == all[0].text));
  return 0;
}
