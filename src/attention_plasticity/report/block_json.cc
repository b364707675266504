#include "attention_plasticity/report/block_json.h"

#include <algorithm>
#include <utility>

namespace attention_plasticity {

Json block_json(const PackedBlock& block) {
  constexpr const char* kinds[]{"f64", "i32", "u16"};
  return {{"kind", kinds[static_cast<std::size_t>(block.kind)]},
          {"offset", block.offset},
          {"count", block.count},
          {"scale", block.scale}};
}

Json heads_json(const std::vector<HeadId>& heads, PackedBlocks& blocks) {
  Json json;
  for (const auto& [name, member] : {std::pair("layer", &HeadId::layer), std::pair("q_head", &HeadId::q_head),
                                     std::pair("k_head", &HeadId::k_head)}) {
    std::vector<int> values(heads.size());
    std::ranges::transform(heads, values.begin(), member);
    json[name] = block_json(blocks.add_integers(values));
  }
  return json;
}

}  // namespace attention_plasticity
