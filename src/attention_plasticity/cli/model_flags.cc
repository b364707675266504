#include "attention_plasticity/cli/model_flags.h"

namespace attention_plasticity {

const FieldTable<ModelFlags>& model_table() {
  using Flags = ModelFlags;
  static const FieldTable<Flags> table{
      {"model", values::any_text("MODEL"), &Flags::model,
       "Name of a repository of the Hugging Face Hub, a folder, or a GGUF file."},
      {"dtype", values::any_text("NAME"), &Flags::dtype,
       "float32, bfloat16 or float16; auto: that of the model's files.", "auto"},
      {"device", values::any_text("NAME"), &Flags::device, "Where the model runs: cpu, cuda, cuda:1, mps.",
       "a GPU if there is one"},
      {"device_map", values::any_text("NAME"), &Flags::device_map,
       "Instead of --device: spread the model over devices, as accelerate does (auto).", "none"},
      {"attention", values::any_text("NAME"), &Flags::attention,
       "How the model computes its attention: sdpa, eager, flash_attention_2.", "as the model does"},
      {"revision", values::any_text("NAME"), &Flags::revision, "Branch, tag or commit of the model.", "main"},
      {"gguf_file", values::any_text("NAME"), &Flags::gguf_file, "The GGUF file of a repository that has several.",
       "none"},
      {"trust_remote_code", values::boolean(), &Flags::trust_remote_code, "Run Python code that comes with the model."},
  };
  return table;
}

const FieldTable<TextFlags>& text_table() {
  using Flags = TextFlags;
  static const FieldTable<Flags> table{
      {"texts", values::any_text("TEXTS"), &Flags::texts,
       "A .txt, .jsonl or Parquet file, a folder of these, a dataset of the Hub, or sample: texts that come with the "
       "package."},
      {"text_field", values::any_text("NAME"), &Flags::text_field, "Field of .jsonl, column of Parquet.", "text"},
      {"text_split", values::any_text("NAME"), &Flags::text_split, "Split of a dataset of the Hub.", "train"},
      {"max_documents", values::count(), &Flags::max_documents, "How many documents to read.", "all"},
      {"long_texts", values::word({"cut", "chunk"}), &Flags::long_texts,
       "What becomes of texts longer than --max_length: they are cut, or become several documents."},
      {"chat_template", values::boolean(), &Flags::chat_template,
       "Put each text into the model's chat template, as what a user says."},
      {"batch_size", values::count(), &Flags::batch_size, "Documents that the model reads at once.", "1"},
  };
  return table;
}

const FieldTable<NativeFlags>& native_table() {
  using Flags = NativeFlags;
  static const FieldTable<Flags> table{
      {"backend", values::word({"auto", "llama", "transformers"}), &Flags::backend,
       "What runs the model: libllama, inside the program, for GGUF files; transformers, in Python; auto: libllama for "
       "a "
       "GGUF file if it was built in, otherwise transformers."},
      {"exact", values::boolean(), &Flags::exact,
       "libllama: compute attention in single steps and keep keys in 32 bits, not 16."},
      {"threads", values::count(), &Flags::threads, "libllama: threads that the model runs on.", "one for each core"},
      {"gpu_layers", values::integer(0, 100000), &Flags::gpu_layers, "libllama: layers that are put on a GPU.",
       "all, if it was built for one"},
  };
  return table;
}

const FieldTable<StudyFlags>& study_table() {
  using Flags = StudyFlags;
  static const FieldTable<Flags> table{
      {"dump", values::boolean(), &Flags::dump,
       "Write the dump; libllama: with --no-dump rows go straight to the analysis, and such a study does not go on "
       "where "
       "it stopped."},
      {"row_memory", values::size_in_bytes(), &Flags::row_memory,
       "With --no-dump: memory for rows. The texts are read again for further layers where all of them need more.",
       "half of what is free"},
  };
  return table;
}

const FieldTable<LabelFlags>& label_table() {
  static const FieldTable<LabelFlags> table{
      {"labels", values::boolean(), &LabelFlags::labels,
       "Label the heads too, by what the model attends to: head_labels.csv of the dump."},
  };
  return table;
}

FieldTable<OutputFlags> output_table(const std::string& help, const std::string& absent) {
  return {
      {"output", values::any_text(), &OutputFlags::output, help, absent},
      {"quiet", values::boolean(), &OutputFlags::quiet, "Print nothing but warnings and what was asked for."},
  };
}

}  // namespace attention_plasticity
