#include "attention_plasticity/results/output_files.h"

#include <utility>

#include "attention_plasticity/digest/digest.h"

namespace attention_plasticity {

std::string OutputFiles::stage(const std::filesystem::path& target, const std::function<void(const Sink&)>& write) {
  AtomicFile file(target);
  Digest digest(DigestKind::sha256);
  write([&](std::string_view bytes) {
    digest.add(bytes);
    file.append(bytes);
  });
  staged_.push_back(std::move(file));
  return digest.finish();
}

std::string OutputFiles::stage(const std::filesystem::path& target, std::string_view content) {
  return stage(target, [&](const Sink& sink) { sink(content); });
}

void OutputFiles::commit() {
  for (AtomicFile& file : staged_) file.commit();
  staged_.clear();
}

void check_writable(const std::filesystem::path& target) { AtomicFile{target}; }

std::filesystem::path partial_name(const std::filesystem::path& target) {
  std::filesystem::path name = target;
  name.replace_extension();
  name += ".partial";
  name += target.extension();
  return name;
}

}  // namespace attention_plasticity
