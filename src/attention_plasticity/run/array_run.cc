#include "attention_plasticity/run/array_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "attention_plasticity/base/head_number.h"
#include "attention_plasticity/base/usable_cores.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/memory.h"
#include "attention_plasticity/run/array_pass.h"
#include "attention_plasticity/run/common_groups.h"
#include "attention_plasticity/run/rotation_check.h"
#include "attention_plasticity/run/rotation_inference.h"

namespace attention_plasticity {
namespace {

using Outcomes = std::vector<std::optional<HeadOutcome>>;

// The heads in place of files by which the rotation is judged. They must outlive what is returned.
std::vector<RotationFile> rotation_rows(std::span<const ArrayHead> heads, const RunConfig& config) {
  std::vector<RotationFile> files;
  files.reserve(2 * heads.size());
  const auto add = [&](Side side, const HeadKey& head, const RowsView& rows) {
    files.push_back({side, head, {}, [&rows, &config, side](const std::function<void(const RowsView&)>& use) {
                       FileRead unused;
                       use(kept_array_rows(rows, side, config, unused).view());
                     }});
  };
  for (const ArrayHead& head : heads) {
    add(Side::query, {head.head.layer, head.head.q_head}, head.queries);
    add(Side::key, {head.head.layer, head.head.k_head}, head.keys);
  }
  return files;
}

double largest_position(std::span<const ArrayHead> heads) {
  double largest = 0;
  for (const ArrayHead& head : heads) {
    for (const RowsView* rows : {&head.queries, &head.keys}) {
      for (const double position : rows->position) largest = std::max(largest, position);
    }
  }
  return largest;
}

int size_of(std::optional<int> given, int needed, const char* field) {
  if (given && *given < needed) {
    throw Error(ErrorKind::usage,
                fmt::format("`{}`: {} is less than 1 + the largest number of the heads, {}", field, *given, needed));
  }
  return given.value_or(needed);
}

PreparedRun prepare(std::span<const ArrayPasses::Head> heads, const RunConfig& config) {
  PreparedRun prepared;
  prepared.model_name = config.model_dir.empty() ? "arrays" : config.model_dir;
  HeadId largest{};
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const HeadId& head = heads[i].head;
    if (i > 0 && head.layer == heads[i - 1].head.layer && head.q_head == heads[i - 1].head.q_head) {
      throw Error(ErrorKind::usage, fmt::format("layer {} q_head {} is given twice", head.layer, head.q_head));
    }
    for (const int number : {head.layer, head.q_head, head.k_head}) {
      if (number < 0 || number > most_head_number) {
        throw Error(ErrorKind::usage,
                    fmt::format("layer {} q_head {} k_head {}: layers and heads have numbers from 0 to {}", head.layer,
                                head.q_head, head.k_head, most_head_number));
      }
    }
    largest.layer = std::max(largest.layer, head.layer);
    largest.q_head = std::max(largest.q_head, head.q_head);
    largest.k_head = std::max(largest.k_head, head.k_head);
    HeadTask task;
    task.head = head;
    task.width = heads[i].width;
    prepared.tasks.push_back(std::move(task));
  }
  prepared.grid.num_layers = size_of(config.num_layers, largest.layer + 1, "num_layers");
  prepared.grid.num_q_heads = size_of(config.num_q_heads, largest.q_head + 1, "num_q_heads");
  prepared.grid.num_k_heads = size_of(config.num_k_heads, largest.k_head + 1, "num_k_heads");
  return prepared;
}

void set_rotation(PreparedRun& prepared, const RunConfig& config, std::optional<ModelRotation> rotation,
                  std::span<const ArrayHead> heads) {
  if (config.analysis.num_triples == 0) return;
  if (rotation) {
    const double length = rotation->depends_on_length() ? largest_position(heads) : 0;
    const RotationSource source = config.rope_config ? RotationSource::config : RotationSource::flags;
    prepared.rotation = DumpRotation{std::move(*rotation), length, source, {}};
    return;
  }
  if (config.analysis.vectors == Vectors::pre) {
    prepared.notes.emplace_back(pre_vectors_show_no_rotation);
    return;
  }
  InferredRotation inferred = infer_rotation(rotation_rows(heads, config), config);
  prepared.rotation = std::move(inferred.rotation);
  prepared.rotation_shares = std::move(inferred.shares);
  (inferred.may_be_wrong ? prepared.warnings : prepared.notes).push_back(std::move(inferred.line));
}

// Tells of rows that may make results wrong, of each key head once, and counts those that were dropped.
class RowWarnings {
 public:
  explicit RowWarnings(const RunObserver& observer) : observer_(observer) {}

  void look(const HeadOutcome& outcome) {
    look(outcome.queries, outcome.head, Side::query);
    if (outcome.keys && keys_.emplace(outcome.head.layer, outcome.head.k_head).second) {
      look(outcome.keys, outcome.head, Side::key);
    }
  }
  std::uint64_t dropped() const { return dropped_; }

 private:
  void look(const std::optional<FileRead>& read, const HeadId& head, Side side) {
    if (!read) return;
    dropped_ += read->dropped_rows;
    const std::string place = side == Side::query ? fmt::format("layer {} q_head {}", head.layer, head.q_head)
                                                  : fmt::format("layer {} k_head {}", head.layer, head.k_head);
    if (read->dropped_rows > 0) {
      observer_.warning(fmt::format("{}: dropped {} rows of the {} with NaN or infinity", place, read->dropped_rows,
                                    side_text(side)));
    }
    if (!read->has_examples && !std::exchange(said_no_examples_, true)) {
      observer_.warning(
          fmt::format("{}: the {} have no example_id, so no key pairs can be formed", place, side_text(side)));
    }
  }

  const RunObserver& observer_;
  std::set<std::pair<int, int>> keys_;
  std::uint64_t dropped_ = 0;
  bool said_no_examples_ = false;
};

// Which heads count for the check of the rotation. Their rows are seen when they are measured.
std::vector<RotationFile> rotation_heads(std::span<const ArrayPasses::Head> heads) {
  std::vector<RotationFile> files;
  files.reserve(2 * heads.size());
  for (const ArrayPasses::Head& head : heads) {
    files.push_back({Side::query, {head.head.layer, head.head.q_head}});
    files.push_back({Side::key, {head.head.layer, head.head.k_head}});
  }
  return files;
}

std::vector<ArrayPasses::Head> all_heads(const ArrayPasses& passes) {
  std::vector<ArrayPasses::Head> heads;
  for (const std::vector<ArrayPasses::Head>& pass : passes.heads) heads.insert(heads.end(), pass.begin(), pass.end());
  return heads;
}

// Measures the heads of all passes, in a run that is prepared.
class PassedRun {
 public:
  PassedRun(const ArrayPasses& passes, ArrayRun& run, const RunObserver& observer, const std::stop_token& stop)
      : passes_(passes),
        run_(run),
        observer_(observer),
        stop_(stop),
        heads_(all_heads(passes)),
        evidence_(configured_evidence(run.prepared, run.config, rotation_heads(heads_))),
        workers_(run.config.max_workers.value_or(usable_cores())) {}

  void measure() {
    for (const std::string& note : run_.prepared.notes) observer_.note(note);
    for (const std::string& warning : run_.prepared.warnings) observer_.warning(warning);
    RowWarnings warnings(observer_);
    std::vector<HeadOutcome> outcomes = measured_once(warnings);
    bool complete = outcomes.size() == heads_.size();
    std::optional<RotationShares> shares;
    if (complete && evidence_) shares = checked_shares(*evidence_, run_.prepared, run_.config, observer_);
    std::optional<std::vector<std::uint64_t>> examples;
    if (complete && run_.config.analysis.standard_errors) examples = common_examples(outcomes);
    if (examples) complete = measured_again(outcomes, *examples);
    // Files of arrays do not exist, and are not told of as such.
    for (HeadOutcome& outcome : outcomes) {
      outcome.queries.reset();
      outcome.keys.reset();
    }
    run_.run = gathered(std::move(outcomes), complete ? examples : std::nullopt);
    run_.run.dropped_rows = warnings.dropped();
    run_.run.rotation_shares = std::move(shares);
    run_.run.interrupted = !complete;
    release_kept_memory();
  }

 private:
  std::vector<HeadOutcome> measured_once(RowWarnings& warnings) {
    Outcomes ended(heads_.size());
    std::size_t count = 0;
    std::size_t first = 0;
    std::uint64_t held = 0;
    for (std::size_t pass = 0; pass < passes_.heads.size() && !stop_.stop_requested(); ++pass) {
      const std::vector<ArrayHead> rows = passes_.rows(pass);
      std::vector<const ArrayHead*> heads;
      heads.reserve(rows.size());
      for (const ArrayHead& head : rows) heads.push_back(&head);
      ArrayPass(heads, run_.prepared, run_.config, evidence_.get(), {})
          .run(workers_, held, stop_, [&](std::size_t i, HeadOutcome outcome) {
            const HeadOutcome& kept = ended[first + i].emplace(std::move(outcome));
            warnings.look(kept);
            held += memory_of(kept);
            observer_.head_ended({kept.head, kept.measured ? &kept.measured->result : nullptr,
                                  kept.failure ? &*kept.failure : nullptr, ++count, heads_.size()});
          });
      first += passes_.heads[pass].size();
    }
    std::vector<HeadOutcome> outcomes;
    outcomes.reserve(count);
    for (std::optional<HeadOutcome>& outcome : ended) {
      if (outcome) outcomes.push_back(std::move(*outcome));
    }
    return outcomes;
  }

  // Heads with other documents, over the common groups. False: not all of them were measured.
  bool measured_again(std::vector<HeadOutcome>& outcomes, const std::vector<std::uint64_t>& examples) {
    const std::vector<std::size_t> again = without_common_groups(outcomes, examples);
    const std::string digest = examples_digest(examples);
    std::uint64_t held = 0;
    for (const HeadOutcome& outcome : outcomes) held += memory_of(outcome);
    std::size_t measured = 0;
    std::size_t first = 0;
    for (std::size_t pass = 0; pass < passes_.heads.size(); ++pass) {
      const std::size_t last = first + passes_.heads[pass].size();
      std::vector<std::size_t> own;
      std::ranges::copy_if(again, std::back_inserter(own), [&](std::size_t i) { return i >= first && i < last; });
      if (!own.empty()) {
        const std::vector<ArrayHead> rows = passes_.rows(pass);
        if (rows.empty()) return false;
        std::vector<const ArrayHead*> heads;
        heads.reserve(own.size());
        for (const std::size_t i : own) heads.push_back(&rows[i - first]);
        ArrayPass(heads, run_.prepared, run_.config, nullptr, examples)
            .run(workers_, held, stop_, [&](std::size_t i, HeadOutcome outcome) {
              if (!outcome.measured) return;
              outcomes[own[i]].common_groups = CommonGroups{digest, std::move(outcome.measured->without_group)};
              ++measured;
            });
      }
      first = last;
    }
    return measured == again.size();
  }

  const ArrayPasses& passes_;
  ArrayRun& run_;
  const RunObserver& observer_;
  const std::stop_token& stop_;
  std::vector<ArrayPasses::Head> heads_;
  std::unique_ptr<RotationEvidence> evidence_;
  int workers_;
};

}  // namespace

ArrayRun analyze_arrays(std::vector<ArrayHead> heads, RunConfig config, std::optional<ModelRotation> rotation,
                        const RunObserver& observer, const std::stop_token& stop) {
  std::ranges::sort(heads, {}, &ArrayHead::head);
  ArrayPasses one;
  one.heads.emplace_back();
  for (const ArrayHead& head : heads) one.heads.front().push_back({head.head, head.queries.width});
  one.rows = [&](std::size_t) { return heads; };
  ArrayRun run{prepare(one.heads.front(), config), std::move(config), {}};
  set_rotation(run.prepared, run.config, std::move(rotation), heads);
  PassedRun(one, run, observer, stop).measure();
  return run;
}

PreparedRun prepare_passes(const ArrayPasses& passes, const RunConfig& config, DumpRotation rotation) {
  PreparedRun prepared = prepare(all_heads(passes), config);
  if (config.analysis.num_triples > 0) prepared.rotation = std::move(rotation);
  return prepared;
}

ArrayRun analyze_passes(const ArrayPasses& passes, PreparedRun prepared, RunConfig config, const RunObserver& observer,
                        const std::stop_token& stop) {
  ArrayRun run{std::move(prepared), std::move(config), {}};
  PassedRun(passes, run, observer, stop).measure();
  return run;
}

}  // namespace attention_plasticity
