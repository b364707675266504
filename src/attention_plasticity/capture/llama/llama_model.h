#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct llama_model;

namespace attention_plasticity {

/// A GGUF model and its tokenizer, as libllama loads them.
class LlamaModel {
 public:
  /// `gpu_layers`: how many layers are put on a GPU; none: all, if there is one. Throws Error(input) for files that
  /// are no such model.
  LlamaModel(const std::filesystem::path& file, std::optional<int> gpu_layers);

  /// The name of the file without its ending, and without the number of its part.
  const std::string& name() const { return name_; }
  const std::filesystem::path& file() const { return file_; }
  /// general.architecture.
  std::string architecture() const;
  llama_model* get() const { return model_.get(); }
  int layers() const;
  /// Tokens that the model was made for.
  int trained_length() const;
  /// Tokens of its sliding windows; 0: it has none.
  int window() const;
  /// Tokens that the rotation was made for before it was stretched; those of `trained_length` if it was not. libllama
  /// takes other frequency factors (LongRoPE) for a context of more tokens.
  int unstretched_length() const;
  /// About how much memory of this machine the cache of a token takes, with numbers of `number_bytes`: that of layers
  /// that are not on a GPU.
  std::uint64_t cache_bytes(std::size_t number_bytes) const;
  /// A digest of the weights and of all else that the file says, over all of its parts (capture/llama/gguf_digest.h).
  std::string digest() const;

  /// Bytes of the longest text that `tokens` takes: libllama counts in 32 bits, and templates add some.
  static constexpr std::size_t longest_text = std::size_t{1} << 30U;
  /// The tokens of a text, with those that the model's tokenizer puts around it. With `chat`, the text is put into the
  /// model's chat template first, as what a user says. Throws Error(usage) when there is no template, or none that
  /// libllama knows.
  std::vector<std::int32_t> tokens(const std::string& text, bool chat) const;
  /// The ids of the tokens that are not special, ascending.
  std::vector<std::int64_t> ordinary_ids() const;
  /// The token that the tokenizer puts before a text; none: it puts none.
  std::optional<std::int64_t> first_id() const;

 private:
  int host_layers() const;  // that are not on a GPU

  struct Free {
    void operator()(llama_model* model) const;
  };

  std::filesystem::path file_;
  std::string name_;
  std::optional<int> gpu_layers_;
  std::unique_ptr<llama_model, Free> model_;
};

}  // namespace attention_plasticity
