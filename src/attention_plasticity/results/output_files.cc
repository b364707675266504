#include "attention_plasticity/results/output_files.h"

namespace attention_plasticity {

void OutputFiles::stage(const std::filesystem::path& target, std::string_view content) {
  staged_.emplace_back(target).write(content);
}

void OutputFiles::commit() {
  for (AtomicFile& file : staged_) file.commit();
  staged_.clear();
}

void check_writable(const std::filesystem::path& target) { AtomicFile(target).write(""); }

std::filesystem::path partial_name(const std::filesystem::path& target) {
  std::filesystem::path name = target;
  name.replace_extension();
  name += ".partial";
  name += target.extension();
  return name;
}

}  // namespace attention_plasticity
