#include "attention_plasticity/run/common_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "attention_plasticity/digest/digest.h"
#include "attention_plasticity/run/summary.h"

namespace attention_plasticity {
namespace {

using Examples = std::vector<std::uint64_t>;

// Null: the head has no value, and does not count.
const HeadResult* valued(const HeadOutcome& outcome) {
  return outcome.measured && has_plasticity(outcome.measured->result) ? &outcome.measured->result : nullptr;
}

// Whether both were measured of the same bytes.
bool read_the_same(const std::optional<FileRead>& one, const std::optional<FileRead>& other) {
  return one && other && one->input == other->input;
}

}  // namespace

std::optional<Examples> common_examples(std::span<const HeadOutcome> outcomes) {
  Examples all;
  for (const HeadOutcome& outcome : outcomes) {
    const HeadResult* result = valued(outcome);
    if (result == nullptr) continue;
    if (result->examples.empty()) return std::nullopt;
    if (result->examples == all) continue;
    Examples both;
    std::ranges::set_union(all, result->examples, std::back_inserter(both));
    all = std::move(both);
  }
  return all;
}

std::string examples_digest(std::span<const std::uint64_t> examples) {
  std::string ids;
  for (const std::uint64_t id : examples) ids += fmt::format("{}\n", id);
  return sha256(ids);
}

std::vector<std::size_t> without_common_groups(std::span<const HeadOutcome> outcomes,
                                               std::span<const std::uint64_t> examples) {
  std::vector<std::size_t> others;
  const std::string digest = examples_digest(examples);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const HeadResult* result = valued(outcomes[i]);
    if (result == nullptr) continue;
    const std::optional<CommonGroups>& common = outcomes[i].common_groups;
    if (common && common->examples_sha256 == digest) continue;
    if (!std::ranges::equal(result->examples, examples)) others.push_back(i);
  }
  return others;
}

std::size_t measure_common_groups(std::span<HeadOutcome> outcomes, std::span<const std::size_t> again,
                                  std::span<const std::uint64_t> examples, const HeadPass::Context& context,
                                  int workers, const std::stop_token& stop,
                                  const std::function<void(const HeadOutcome&)>& done) {
  std::vector<HeadTask> tasks;
  tasks.reserve(again.size());
  for (const std::size_t index : again) {
    tasks.push_back(*std::ranges::find(context.prepared.tasks, outcomes[index].head, &HeadTask::head));
  }
  const RunObserver silent{[](const HeadEvent&) {}, [](const std::string&) {}, [](const std::string&) {}, {}};
  const std::string digest = examples_digest(examples);
  std::size_t measured = 0;
  std::uint64_t held = 0;
  for (const HeadOutcome& outcome : outcomes) held += memory_of(outcome);
  HeadPass pass(tasks, {context.prepared, context.config, silent, nullptr, examples, held},
                [&](std::size_t task, HeadOutcome outcome) {
                  HeadOutcome& head = outcomes[again[task]];
                  if (!outcome.measured || !read_the_same(outcome.queries, head.queries) ||
                      !read_the_same(outcome.keys, head.keys)) {
                    return;
                  }
                  head.common_groups = CommonGroups{digest, std::move(outcome.measured->without_group)};
                  ++measured;
                  if (done) done(head);
                });
  pass.run(workers, stop);
  return measured;
}

}  // namespace attention_plasticity
