// Any text as a cache plan, in each of its three formats. What is taken reads back from its own text.

#include "attention_plasticity/evaluation/cache_plan_text.h"
#include "target.h"

namespace ap = attention_plasticity;
using ap::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = ap::fuzz::text_of(data, size);
  ap::fuzz::succeeds([&] { ap::cache_plan_format(text, "plan"); });
  ap::fuzz::succeeds([&] {
    const std::string written = ap::cache_plan_text(ap::parse_plan_json(text, "plan.json"), ap::PlanFormat::json);
    require(ap::cache_plan_text(ap::parse_plan_json(written, "again.json"), ap::PlanFormat::json) == written);
  });
  ap::CachePlanOptions options;
  options.keep = 0.5;
  ap::fuzz::succeeds([&] { ap::cache_plan_text(ap::parse_plan_tsv(text, "a.tsv", {}, options), ap::PlanFormat::tsv); });
  ap::fuzz::succeeds(
      [&] { ap::cache_plan_text(ap::parse_plan_scores(text, "a.json", {}, options), ap::PlanFormat::scores); });
  return 0;
}
