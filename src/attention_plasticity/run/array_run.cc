#include "attention_plasticity/run/array_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "attention_plasticity/base/head_number.h"
#include "attention_plasticity/base/usable_cores.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

int size_of(std::optional<int> given, int needed, const char* field) {
  if (given && *given < needed) {
    throw Error(ErrorKind::usage,
                fmt::format("`{}`: {} is less than 1 + the largest number of the heads, {}", field, *given, needed));
  }
  return given.value_or(needed);
}

PreparedRun prepare(ArrayPasses passes, const RunConfig& config) {
  PreparedRun prepared;
  prepared.model_name = config.model_dir.empty() ? "arrays" : config.model_dir;
  HeadId largest{};
  for (const std::vector<ArrayPasses::Head>& pass : passes.heads) {
    for (const auto& [head, width] : pass) {
      if (!prepared.tasks.empty()) {
        const HeadId& before = prepared.tasks.back().head;
        if (head.layer == before.layer && head.q_head == before.q_head) {
          throw Error(ErrorKind::usage, fmt::format("layer {} q_head {} is given twice", head.layer, head.q_head));
        }
      }
      for (const int number : {head.layer, head.q_head, head.k_head}) {
        if (number >= 0 && number <= most_head_number) continue;
        throw Error(ErrorKind::usage,
                    fmt::format("layer {} q_head {} k_head {}: layers and heads have numbers from 0 to {}", head.layer,
                                head.q_head, head.k_head, most_head_number));
      }
      largest.layer = std::max(largest.layer, head.layer);
      largest.q_head = std::max(largest.q_head, head.q_head);
      largest.k_head = std::max(largest.k_head, head.k_head);
      HeadTask& task = prepared.tasks.emplace_back();
      task.head = head;
      task.width = width;
    }
  }
  prepared.grid.num_layers = size_of(config.num_layers, largest.layer + 1, "num_layers");
  prepared.grid.num_q_heads = size_of(config.num_q_heads, largest.q_head + 1, "num_q_heads");
  prepared.grid.num_k_heads = size_of(config.num_k_heads, largest.k_head + 1, "num_k_heads");
  prepared.source = std::make_shared<ArraySource>(std::move(passes), config.non_finite);
  return prepared;
}

}  // namespace

FinishedRun analyze_arrays(std::vector<ArrayHead> heads, RunConfig config, std::optional<ModelRotation> rotation,
                           const RunObserver& observer, const std::stop_token& stop) {
  std::ranges::sort(heads, {}, &ArrayHead::head);
  ArrayPasses one;
  one.heads.emplace_back();
  for (const ArrayHead& head : heads) one.heads.front().push_back({head.head, head.queries.width});
  one.rows = [&](std::size_t) { return heads; };
  FinishedRun run{std::move(config), {}, {}};
  run.prepared = prepare(std::move(one), run.config);
  std::optional<DumpRotation> known;
  if (rotation) {
    const RotationSource said_by = run.config.rope_config ? RotationSource::config : RotationSource::flags;
    known = DumpRotation{std::move(*rotation), 0, said_by, {}, {}};
  }
  set_rotation(run.prepared, run.config, std::move(known));
  require_fitting_rotation(run.prepared);
  const RunObserver told = serialized(observer);
  for (const std::string& note : run.prepared.notes) told.note(note);
  const MeasureOptions options{.workers = run.config.max_workers.value_or(usable_cores()), .stop = stop};
  run.result = run_analysis(run.prepared, run.config, options, observer);
  run.prepared.source.reset();  // it refers to rows of the caller
  return run;
}

PreparedRun prepare_passes(ArrayPasses passes, const RunConfig& config, DumpRotation rotation) {
  PreparedRun prepared = prepare(std::move(passes), config);
  if (config.analysis.num_triples > 0) prepared.rotation = std::move(rotation);
  return prepared;
}

}  // namespace attention_plasticity
