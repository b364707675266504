#include "attention_plasticity/run/plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "attention_plasticity/base/error.h"
#include "attention_plasticity/dump/capture_metadata.h"
#include "attention_plasticity/dump/head_file.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

int one_more_than_largest(const std::set<HeadKey>& heads, int HeadKey::* member) {
  int largest = -1;
  for (const HeadKey& head : heads) largest = std::max(largest, head.*member);
  // No number is one more than the largest of all: such a head lies outside any grid.
  return std::min(largest, std::numeric_limits<int>::max() - 1) + 1;
}

ModelGrid model_grid(const RunConfig& config, const ModelShape& model, const DumpLayout& layout) {
  const auto first_known = [](std::optional<int> given, std::optional<int> of_model, int discovered) {
    return given ? *given : of_model.value_or(discovered);
  };
  const int found_layers = std::max(one_more_than_largest(layout.queries, &HeadKey::layer),
                                    one_more_than_largest(layout.keys, &HeadKey::layer));
  ModelGrid grid;
  grid.num_layers = first_known(config.num_layers, model.num_layers, found_layers);
  grid.num_q_heads =
      first_known(config.num_q_heads, model.num_q_heads, one_more_than_largest(layout.queries, &HeadKey::head));
  grid.num_k_heads =
      first_known(config.num_k_heads, model.num_k_heads, one_more_than_largest(layout.keys, &HeadKey::head));
  if (grid.num_q_heads == 0)
    throw Error(ErrorKind::input, "the dump holds keys but no queries", layout.folder.string());
  if (grid.num_k_heads == 0)
    throw Error(ErrorKind::input, "the dump holds queries but no keys", layout.folder.string());
  if (grid.num_q_heads % grid.num_k_heads != 0) {
    throw Error(ErrorKind::usage,
                fmt::format("{} query heads cannot be shared out evenly over {} key heads; pass --num_q_heads and "
                            "--num_k_heads as the model has them",
                            grid.num_q_heads, grid.num_k_heads));
  }
  return grid;
}

using Selection = std::optional<std::vector<int>>;

bool is_selected(const Selection& selection, int number) {
  return !selection || std::ranges::binary_search(*selection, number);
}

std::size_t selected_of(const Selection& selection, int all) {
  return selection ? selection->size() : static_cast<std::size_t>(all);
}

bool is_in_grid(const ModelGrid& grid, const HeadKey& query) {
  return query.layer < grid.num_layers && query.head < grid.num_q_heads;
}

// Nothing of a file that cannot be read; its turn tells why.
HeadFooter readable_footer(const fs::path& file) {
  try {
    return read_head_footer(file);
  } catch (const Error&) {
    return {};
  }
}

// Bytes that reading and analysing a file take at their peak: the columns as read twice over (the decoder's and ours),
// and for queries the doubles that the statistics work on.
std::uint64_t estimated_bytes(const HeadFooter& footer, Side side, const RunConfig& config) {
  const std::uint64_t kept =
      std::min<std::uint64_t>(footer.rows, config.analysis.max_tokens_per_head.value_or(footer.rows));
  const std::uint64_t row = footer.width * sizeof(float) + 24;
  const std::uint64_t subsample = kept < footer.rows ? kept * row : 0;
  const std::uint64_t doubles = side == Side::query ? 2 * kept * footer.width * sizeof(double) : 0;
  return 2 * footer.rows * row + subsample + doubles;
}

void add_tasks(RunPlan& plan, const RunConfig& config) {
  for (const HeadKey& query : plan.layout.queries) {
    if (!is_in_grid(plan.grid, query)) continue;
    if (!is_selected(config.layers, query.layer) || !is_selected(config.q_heads, query.head)) continue;
    HeadTask task;
    task.head = {query.layer, query.head, plan.grid.k_head(query.head)};
    task.query_file = plan.layout.file(Side::query, query);
    task.key_file = plan.layout.file(Side::key, {query.layer, task.head.k_head});
    measure_files(task, config, plan.tasks.empty() ? nullptr : &plan.tasks.back());
    plan.tasks.push_back(std::move(task));
  }
  plan.skipped = selected_of(config.layers, plan.grid.num_layers) * selected_of(config.q_heads, plan.grid.num_q_heads) -
                 plan.tasks.size();
}

void note_heads_outside(RunPlan& plan) {
  const auto outside =
      std::ranges::count_if(plan.layout.queries, [&](const HeadKey& query) { return !is_in_grid(plan.grid, query); });
  if (outside == 0) return;
  plan.notes.push_back(
      fmt::format("{} captured query {} outside the {} layers x {} query heads of the model and {} "
                  "left alone",
                  outside, outside == 1 ? "head lies" : "heads lie", plan.grid.num_layers, plan.grid.num_q_heads,
                  outside == 1 ? "is" : "are"));
}

void note_large_heads(RunPlan& plan, const RunConfig& config) {
  if (!config.memory_limit) return;
  const auto large = std::ranges::count_if(
      plan.tasks, [&](const HeadTask& task) { return task.query_bytes + task.key_bytes > *config.memory_limit; });
  if (large == 0) return;
  plan.notes.push_back(fmt::format("{} {} more memory than the limit of {} bytes and {} alone", large,
                                   large == 1 ? "head needs" : "heads need", *config.memory_limit,
                                   large == 1 ? "runs" : "run"));
}

// A rotation that does not fit is wrong for all heads, and better told before any is read.
void check_rotation(const RunPlan& plan) {
  if (!plan.rotation) return;
  std::set<std::pair<int, std::size_t>> seen;
  for (const HeadTask& task : plan.tasks) {
    if (task.width > 0 && seen.emplace(task.head.layer, task.width).second) {
      plan.rotation->layer(task.head.layer, task.width);
    }
  }
}

std::string model_name(const CaptureMetadata& metadata, const DumpLayout& layout, const DumpSource& source) {
  if (metadata.model_name) return *metadata.model_name;
  // The folder of a snapshot is named by its commit, which tells a reader nothing.
  if (source.hub && layout.folder == source.root) return fmt::format("{}@{}", source.hub->repo, source.hub->revision);
  const fs::path folder = fs::absolute(layout.folder).lexically_normal();
  return (folder.has_filename() ? folder.filename() : folder.parent_path().filename()).string();
}

}  // namespace

void measure_files(HeadTask& task, const RunConfig& config, const HeadTask* before) {
  const HeadFooter queries = readable_footer(task.query_file);
  task.query_bytes = estimated_bytes(queries, Side::query, config);
  task.width = queries.width;
  task.key_bytes = before != nullptr && before->key_file == task.key_file
                       ? before->key_bytes
                       : estimated_bytes(readable_footer(task.key_file), Side::key, config);
}

RunPlan make_plan(const RunConfig& config, const DumpSource& source) {
  RunPlan plan;
  const fs::path& root = source.root;
  plan.layout = source.layout;
  plan.hub = source.hub;
  if (plan.layout.note) plan.notes.push_back(*plan.layout.note);

  CaptureMetadata metadata = read_capture_metadata(plan.layout.folder, plan.notes);
  plan.grid = model_grid(config, find_model_shape(root, plan.layout.folder, plan.notes), plan.layout);
  check_selection(config, plan.grid.num_layers, plan.grid.num_q_heads);
  plan.model_name = model_name(metadata, plan.layout, source);
  plan.sampling_strategy = std::move(metadata.sampling_strategy);
  plan.sampling_bucket_size = metadata.bucket_size;

  note_heads_outside(plan);
  add_tasks(plan, config);
  if (plan.tasks.empty()) {
    throw Error(ErrorKind::input,
                "none of the selected heads was captured in this dump; `attention-plasticity inspect` "
                "lists those that were",
                plan.layout.folder.string());
  }
  note_large_heads(plan, config);
  plan.rotation = find_rotation(config, root, plan.layout, plan.notes);
  check_rotation(plan);
  return plan;
}

RunPlan make_plan(const RunConfig& config) {
  if (!config.dataset_local_root) {
    throw Error(ErrorKind::usage, "a dump on disk is given as --dataset_local_root FOLDER");
  }
  const fs::path root = *config.dataset_local_root;
  return make_plan(config, {root, find_heads(root, config.model_dir), std::nullopt});
}

}  // namespace attention_plasticity
