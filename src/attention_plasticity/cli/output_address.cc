#include "attention_plasticity/cli/output_address.h"

#include <algorithm>
#include <filesystem>

#include "attention_plasticity/cli/machine.h"
#include "attention_plasticity/digest/digest.h"

namespace attention_plasticity {
namespace {

// The folder on disk for results that go to a store, the same for the same address.
std::filesystem::path folder_of_output(const StoreAddress& address) {
  std::filesystem::path cache = environment_variable("XDG_CACHE_HOME").value_or("");
  if (cache.empty()) cache = std::filesystem::path(environment_variable("HOME").value_or("/tmp")) / ".cache";
  return cache / "attention-plasticity" / "outputs" / sha256(address.recorded()).substr(0, 16);
}

}  // namespace

std::unique_ptr<StoredOutput> stored_output(std::vector<Setting>& settings) {
  const auto last = std::ranges::find(settings.rbegin(), settings.rend(), "output_dir", &Setting::field);
  if (last == settings.rend()) return nullptr;
  const std::string given = last->value.value_or("");
  if (!is_store_address(given)) return nullptr;
  const StoreAddress address(given);
  auto output = std::make_unique<StoredOutput>(address, folder_of_output(address));
  last->value = output->folder().string();
  return output;
}

}  // namespace attention_plasticity
