#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "attention_plasticity/settings/field.h"

// The flags of the commands that run a model, apart from those of evaluate.

namespace attention_plasticity {

/// What runs a model.
enum class Backend { automatic, llama, transformers };

/// Flags of the model, for transformers, apart from `model` itself.
struct ModelFlags {
  std::optional<std::string> model;
  std::optional<std::string> dtype;
  std::optional<std::string> device;
  std::optional<std::string> device_map;
  std::optional<std::string> attention;
  std::optional<std::string> revision;
  std::optional<std::string> gguf_file;
  bool trust_remote_code = false;
};

struct TextFlags {
  std::optional<std::string> texts;
  std::optional<std::string> text_field;
  std::optional<std::string> text_split;
  std::optional<std::uint64_t> max_documents;
  std::size_t long_texts = 0;
  bool chat_template = false;
  std::optional<std::uint64_t> batch_size;
};

struct LabelFlags {
  bool labels = false;
};

struct OutputFlags {
  std::optional<std::string> output;
  bool quiet = false;
};

/// Flags of the way without Python.
struct NativeFlags {
  Backend backend = Backend::automatic;
  bool exact = false;
  std::optional<int> threads;
  std::optional<int> gpu_layers;
};

/// Flags of study.
struct StudyFlags {
  bool dump = true;
  std::optional<std::uint64_t> row_memory;
};

const FieldTable<ModelFlags>& model_table();
const FieldTable<TextFlags>& text_table();
const FieldTable<NativeFlags>& native_table();
const FieldTable<StudyFlags>& study_table();
/// A study always labels.
const FieldTable<LabelFlags>& label_table();
FieldTable<OutputFlags> output_table(const std::string& help, const std::string& absent);

}  // namespace attention_plasticity
