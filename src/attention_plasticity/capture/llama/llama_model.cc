#include "attention_plasticity/capture/llama/llama_model.h"

#include <fmt/format.h>
#include <llama.h>

#include <algorithm>
#include <charconv>
#include <regex>

#include "attention_plasticity/capture/llama/gguf_digest.h"
#include "attention_plasticity/capture/llama/gguf_file.h"
#include "attention_plasticity/capture/llama/llama_log.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

std::string name_of(const fs::path& file) {
  static const std::regex part("-[0-9]{5}-of-[0-9]{5}$");
  return std::regex_replace(file.stem().string(), part, "");
}

std::string metadata(const llama_model* model, const std::string& key) {
  std::vector<char> value(256);
  const int length = llama_model_meta_val_str(model, key.c_str(), value.data(), value.size());
  return length < 0 ? "" : std::string(value.data(), std::min<std::size_t>(static_cast<std::size_t>(length), 255));
}

std::optional<int> whole_number(const llama_model* model, const std::string& key) {
  const std::string text = metadata(model, key);
  int number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return parsed.ec == std::errc() ? std::optional(number) : std::nullopt;
}

std::string chat_text(const LlamaModel& model, const std::string& text) {
  const char* const chat_template = llama_model_chat_template(model.get(), nullptr);
  if (chat_template == nullptr) throw Error(ErrorKind::usage, "`chat_template`: the tokenizer of this model has none");
  const llama_chat_message message{"user", text.c_str()};
  std::string out(text.size() + 4096, '\0');
  for (int attempt = 0; attempt < 2; ++attempt) {
    const int length =
        llama_chat_apply_template(chat_template, &message, 1, false, out.data(), static_cast<int>(out.size()));
    if (length < 0) {
      throw Error(ErrorKind::usage,
                  "`chat_template`: libllama does not know the template of this model; pass `backend: transformers`");
    }
    const bool whole = static_cast<std::size_t>(length) <= out.size();
    out.resize(static_cast<std::size_t>(length));
    if (whole) break;
  }
  return out;
}

}  // namespace

void LlamaModel::Free::operator()(llama_model* model) const { llama_model_free(model); }

LlamaModel::LlamaModel(const fs::path& file, std::optional<int> gpu_layers)
    : file_(file), name_(name_of(file)), gpu_layers_(gpu_layers) {
  check_gguf_file(file);
  llama_model_params params = llama_model_default_params();
  if (gpu_layers) params.n_gpu_layers = *gpu_layers;
  // Layers lie on one device each. A head that is spread over several would be met in parts.
  params.split_mode = LLAMA_SPLIT_MODE_LAYER;
  take_llama_error();
  model_.reset(llama_model_load_from_file(file.c_str(), params));
  if (!model_) {
    const std::string why = take_llama_error();
    throw Error(ErrorKind::input, fmt::format("libllama cannot load it{}{}", why.empty() ? "" : ": ", why),
                file.string());
  }
  if (llama_model_has_encoder(model_.get())) {
    throw Error(ErrorKind::input,
                "this model has an encoder; only models that read a text from left to right can be "
                "captured",
                file.string());
  }
  if (llama_vocab_n_tokens(llama_model_get_vocab(model_.get())) < 2 ||
      llama_vocab_type(llama_model_get_vocab(model_.get())) == LLAMA_VOCAB_TYPE_NONE) {
    throw Error(ErrorKind::input, "this GGUF file has no tokenizer", file.string());
  }
}

std::string LlamaModel::architecture() const { return metadata(get(), "general.architecture"); }

int LlamaModel::layers() const { return llama_model_n_layer(get()); }

int LlamaModel::trained_length() const { return llama_model_n_ctx_train(get()); }

int LlamaModel::window() const { return llama_model_n_swa(get()); }

int LlamaModel::unstretched_length() const {
  return whole_number(get(), architecture() + ".rope.scaling.original_context_length").value_or(trained_length());
}

// A number of layers on the GPU counts what follows the last layer as one, and is filled from the end.
int LlamaModel::host_layers() const {
  if (!llama_supports_gpu_offload()) return layers();
  if (!gpu_layers_ || *gpu_layers_ < 0) return 0;
  return std::clamp(layers() + 1 - *gpu_layers_, 0, layers());
}

std::string LlamaModel::digest() const { return gguf_digest(file_); }

std::uint64_t LlamaModel::cache_bytes(std::size_t number_bytes) const {
  const auto heads = static_cast<std::uint64_t>(std::max(1, llama_model_n_head_kv(get())));
  const auto width_of = [&](const char* key) {
    const std::optional<int> width = whole_number(get(), fmt::format("{}.attention.{}", architecture(), key));
    if (width && *width > 0) return static_cast<std::uint64_t>(*width);
    const auto q_heads = static_cast<std::uint64_t>(std::max(1, llama_model_n_head(get())));
    return static_cast<std::uint64_t>(llama_model_n_embd(get())) / q_heads;
  };
  return static_cast<std::uint64_t>(host_layers()) * heads * (width_of("key_length") + width_of("value_length")) *
         number_bytes;
}

std::vector<std::int32_t> LlamaModel::tokens(const std::string& text, bool chat) const {
  const std::string whole = chat ? chat_text(*this, text) : text;
  const llama_vocab* const vocabulary = llama_model_get_vocab(get());
  std::vector<std::int32_t> ids(whole.size() + 8);
  for (int attempt = 0; attempt < 2; ++attempt) {
    // Words that look like special tokens are text, unless the template has put them there.
    const int count = llama_tokenize(vocabulary, whole.data(), static_cast<int>(whole.size()), ids.data(),
                                     static_cast<int>(ids.size()), true, chat);
    ids.resize(static_cast<std::size_t>(std::abs(count)));
    if (count >= 0) break;
  }
  return ids;
}

std::vector<std::int64_t> LlamaModel::ordinary_ids() const {
  const llama_vocab* const vocabulary = llama_model_get_vocab(get());
  constexpr auto special = static_cast<unsigned>(LLAMA_TOKEN_ATTR_CONTROL) |
                           static_cast<unsigned>(LLAMA_TOKEN_ATTR_UNKNOWN) |
                           static_cast<unsigned>(LLAMA_TOKEN_ATTR_UNUSED);
  std::vector<std::int64_t> ids;
  for (std::int32_t id = 0; id < llama_vocab_n_tokens(vocabulary); ++id) {
    if ((static_cast<unsigned>(llama_vocab_get_attr(vocabulary, id)) & special) == 0) ids.push_back(id);
  }
  return ids;
}

std::optional<std::int64_t> LlamaModel::first_id() const {
  const llama_vocab* const vocabulary = llama_model_get_vocab(get());
  const llama_token first = llama_vocab_bos(vocabulary);
  if (!llama_vocab_get_add_bos(vocabulary) || first == LLAMA_TOKEN_NULL) return std::nullopt;
  return first;
}

}  // namespace attention_plasticity
