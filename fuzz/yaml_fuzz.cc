// Any text as a configuration. What is taken reads back from its own text to the same configuration.

#include <vector>

#include "attention_plasticity/options/config.h"
#include "attention_plasticity/options/config_fields.h"
#include "attention_plasticity/settings/yaml_settings.h"
#include "target.h"

namespace ap = attention_plasticity;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = ap::fuzz::text_of(data, size);
  ap::fuzz::succeeds([&] {
    const ap::RunConfig config = ap::resolve_config(ap::parse_yaml_settings(text, "fuzz.yaml", ap::config_fields()));
    const std::string written = ap::config_text(config);
    const ap::RunConfig again = ap::resolve_config(ap::parse_yaml_settings(written, "again.yaml", ap::config_fields()));
    ap::fuzz::require(ap::config_text(again) == written);
  });
  return 0;
}
