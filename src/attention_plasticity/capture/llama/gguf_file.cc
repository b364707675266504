#include "attention_plasticity/capture/llama/gguf_file.h"

#include <fmt/format.h>
#include <gguf.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/capture/gguf_magic.h"
#include "attention_plasticity/capture/llama/llama_log.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

struct Free {
  void operator()(gguf_context* header) const { gguf_free(header); }
};

std::optional<std::string> text_of(const gguf_context* header, const char* key) {
  const std::int64_t id = gguf_find_key(header, key);
  if (id < 0 || gguf_get_kv_type(header, id) != GGUF_TYPE_STRING) return std::nullopt;
  return gguf_get_val_str(header, id);
}

std::optional<std::uint64_t> number_of(const gguf_context* header, const char* key) {
  const std::int64_t id = gguf_find_key(header, key);
  if (id < 0) return std::nullopt;
  switch (gguf_get_kv_type(header, id)) {
    case GGUF_TYPE_UINT8:
      return gguf_get_val_u8(header, id);
    case GGUF_TYPE_UINT16:
      return gguf_get_val_u16(header, id);
    case GGUF_TYPE_UINT32:
      return gguf_get_val_u32(header, id);
    default:
      return std::nullopt;
  }
}

std::uint64_t needed_bytes(const gguf_context* header) {
  std::uint64_t end = gguf_get_data_offset(header);
  for (std::int64_t i = 0; i < gguf_get_n_tensors(header); ++i) {
    const std::uint64_t offset = gguf_get_data_offset(header) + gguf_get_tensor_offset(header, i);
    end = std::max<std::uint64_t>(end, offset + gguf_get_tensor_size(header, i));
  }
  return end;
}

}  // namespace

void check_gguf_file(const fs::path& file) {
  const auto refuse = [&](const std::string& message) { throw Error(ErrorKind::input, message, file.string()); };
  std::error_code unknown;
  if (!fs::exists(file, unknown)) refuse("there is no such GGUF file");
  if (!fs::is_regular_file(file, unknown)) refuse("this is no file");
  if (!has_gguf_magic(file)) refuse("this is no GGUF file: it does not begin with the letters GGUF");
  prepare_llama();
  take_llama_error();
  const std::unique_ptr<gguf_context, Free> header(gguf_init_from_file(file.c_str(), {true, nullptr}));
  if (!header) {
    const std::string why = take_llama_error();
    refuse(fmt::format("the header of this GGUF file cannot be read; it may be truncated{}{}", why.empty() ? "" : ": ",
                       why));
  }
  const std::string type = text_of(header.get(), "general.type").value_or("");
  const std::string architecture = text_of(header.get(), "general.architecture").value_or("");
  if (type == "mmproj" || architecture == "clip") {
    refuse(
        "this GGUF file is a projector for images or sound, and no language model; give the model that it belongs "
        "to");
  }
  if (type == "adapter") refuse("this GGUF file is an adapter, and no model; merge it into its model first");
  const std::uint64_t part = number_of(header.get(), "split.no").value_or(0);
  if (part > 0) {
    refuse(fmt::format("this is part {} of {} of a model; give the first one, and the others are found beside it",
                       part + 1, number_of(header.get(), "split.count").value_or(0)));
  }
  const std::uint64_t size = fs::file_size(file, unknown);
  const std::uint64_t needed = needed_bytes(header.get());
  if (!unknown && size < needed) {
    refuse(fmt::format("this GGUF file is truncated: it has {}, and its tensors need {}", size_text(size),
                       size_text(needed)));
  }
}

}  // namespace attention_plasticity
