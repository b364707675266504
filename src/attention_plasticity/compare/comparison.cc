#include "attention_plasticity/compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>
#include <utility>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/results/schema.h"
#include "attention_plasticity/stats/false_discovery.h"
#include "attention_plasticity/stats/jackknife.h"
#include "attention_plasticity/stats/mean.h"
#include "attention_plasticity/stats/rank.h"
#include "attention_plasticity/stats/student.h"

namespace attention_plasticity {
namespace {

// A head of both runs: its places in their metrics.
struct MatchedHead {
  std::size_t a;
  std::size_t b;
};

void refuse_other_shape(const ComparedRun& a, const ComparedRun& b) {
  const auto shape = [](const ComparedRun& run) {
    const RunDescription& model = run.description;
    return fmt::format("{} has {} layers of {} query heads and {} key heads{}", shown_text(run.model()),
                       model.num_layers, model.num_q_heads, model.num_k_heads,
                       run.width > 0 ? fmt::format(" of {} components", run.width) : "");
  };
  const auto sizes = [](const ComparedRun& run) {
    return std::tuple(run.description.num_layers, run.description.num_q_heads, run.description.num_k_heads);
  };
  const bool same_width = a.width == b.width || a.width == 0 || b.width == 0;
  if (sizes(a) == sizes(b) && same_width) return;
  throw Error(ErrorKind::input,
              fmt::format("cannot be compared with {}, since heads are matched by layer and number: {}, and {}",
                          a.folder, shape(b), shape(a)),
              b.folder);
}

std::vector<MatchedHead> matched_heads(const ComparedRun& a, const ComparedRun& b) {
  const auto place = [](const HeadId& head) { return std::pair(head.layer, head.q_head); };
  const std::vector<HeadId>& heads_a = a.metrics.heads();
  const std::vector<HeadId>& heads_b = b.metrics.heads();
  std::vector<MatchedHead> matched;
  for (std::size_t i = 0, j = 0; i < heads_a.size() && j < heads_b.size();) {
    if (place(heads_a[i]) == place(heads_b[j]))
      matched.push_back({i++, j++});
    else if (place(heads_a[i]) < place(heads_b[j]))
      ++i;
    else
      ++j;
  }
  if (matched.empty()) {
    throw Error(ErrorKind::input, fmt::format("has no head in common with {}", a.folder), b.folder);
  }
  return matched;
}

std::vector<std::string> caveats_of(const ComparedRun& a, const ComparedRun& b) {
  std::vector<std::string> caveats;
  if (a.description.model != b.description.model) {
    caveats.push_back(
        fmt::format("the models have different names: {} and {}", shown_text(a.model()), shown_text(b.model())));
  }
  const auto& [sampling_a, sampling_b] = std::pair(a.description.sampling, b.description.sampling);
  const bool same_sampling = sampling_a.has_value() == sampling_b.has_value() &&
                             (!sampling_a || (sampling_a->logarithmic == sampling_b->logarithmic &&
                                              sampling_a->bucket_size == sampling_b->bucket_size));
  if (!same_sampling) {
    caveats.emplace_back(
        "positions were sampled in different ways, so a difference may come from which positions were captured");
  }
  if (a.description.windows != b.description.windows) {
    caveats.emplace_back("some layers have another sliding window in the second run");
  }
  for (const auto& [field, value] : a.settings) {
    const auto other = b.settings.find(field);
    if (other == b.settings.end() || other->second == value) continue;
    caveats.push_back(
        fmt::format("the runs were made with different settings: `{}` is {} and {}", field, value, other->second));
  }
  return caveats;
}

std::vector<std::string> chosen_columns(const ComparedRun& a, const ComparedRun& b, const ComparisonOptions& options) {
  if (!options.columns.empty()) return options.columns;
  std::vector<std::string> columns;
  for (const std::string_view measure : headline_measures()) {
    if (a.metrics.has(measure) && b.metrics.has(measure)) columns.emplace_back(measure);
  }
  if (columns.empty()) {
    throw Error(ErrorKind::input,
                fmt::format("has none of the columns that {} has; choose some with `columns`", a.folder), b.folder);
  }
  return columns;
}

// The values without each group of one run's heads, or null.
struct Groups {
  const GroupValues* a;
  const GroupValues* b;
};

class ColumnOfTwoRuns {
 public:
  ColumnOfTwoRuns(const ComparedRun& a, const ComparedRun& b, std::span<const MatchedHead> matched, bool paired,
                  const std::string& column)
      : a_(a), b_(b), matched_(matched), paired_(paired), groups_{a.groups_of(column), b.groups_of(column)} {
    result_.column = column;
    const std::string_view errors = error_column(column);
    result_.has_errors = groups_.a != nullptr && groups_.b != nullptr && a.metrics.has(errors) && b.metrics.has(errors);
    if (!result_.has_errors) return;
    errors_a_ = a.metrics.values(errors);
    errors_b_ = b.metrics.values(errors);
  }

  ColumnComparison compared(double level) {
    const std::vector<double> values_a = a_.metrics.values(result_.column);
    const std::vector<double> values_b = b_.metrics.values(result_.column);
    std::vector<double> both_a;
    std::vector<double> both_b;
    Mean mean_a;
    Mean mean_b;
    Mean mean_difference;
    for (const MatchedHead& match : matched_) {
      HeadDifference head;
      head.head = a_.metrics.heads()[match.a];
      head.a = values_a[match.a];
      head.b = values_b[match.b];
      head.difference = head.b - head.a;
      const bool has_both = !std::isnan(head.difference);
      if (has_both) {
        both_a.push_back(head.a);
        both_b.push_back(head.b);
        mean_a.add(head.a);
        mean_b.add(head.b);
        mean_difference.add(head.difference);
      }
      if (has_both && result_.has_errors) add_head_error(head, match);
      result_.heads.push_back(head);
    }
    result_.count = both_a.size();
    result_.model.a = mean_a.value();
    result_.model.b = mean_b.value();
    result_.model.difference = mean_difference.value();
    if (result_.has_errors) add_model_error();
    result_.rank_correlation = spearman(both_a, both_b);
    add_q(level);
    return std::move(result_);
  }

 private:
  void add_head_error(HeadDifference& head, const MatchedHead& match) {
    const LeaveOneOut& a = (*groups_.a)[match.a];
    const LeaveOneOut& b = (*groups_.b)[match.b];
    set_error(head, a, b, paired_, std::hypot(errors_a_[match.a], errors_b_[match.b]));
    if (paired_) {
      // A group counts in the mean of differences only where both runs have a value without it.
      differences_.push_back(difference_of(a, b));
    } else {
      of_a_.push_back(a);
      of_b_.push_back(b);
    }
  }

  void add_model_error() {
    // Heads have groups of their own where a run has no common ones, and then the error of a mean is unknown.
    if (!a_.groups || !b_.groups) return;
    if (paired_) {
      const LeaveOneOut means = mean_over_heads(differences_);
      set_error(result_.model, jackknife_error(means.values), means.groups.size());
      return;
    }
    const LeaveOneOut means_a = mean_over_heads(of_a_);
    const LeaveOneOut means_b = mean_over_heads(of_b_);
    set_error(result_.model, std::hypot(jackknife_error(means_a.values), jackknife_error(means_b.values)),
              std::min(means_a.groups.size(), means_b.groups.size()));
  }

  void add_q(double level) {
    std::vector<double> p(result_.heads.size());
    std::ranges::transform(result_.heads, p.begin(), &HeadDifference::p);
    const std::vector<double> q = false_discovery_q(p);
    for (std::size_t i = 0; i < q.size(); ++i) {
      HeadDifference& head = result_.heads[i];
      head.q = q[i];
      if (!has_moved(head, level)) continue;
      ++(head.difference > 0 ? result_.up : result_.down);
    }
  }

  const ComparedRun& a_;
  const ComparedRun& b_;
  std::span<const MatchedHead> matched_;
  bool paired_;
  Groups groups_;
  std::vector<double> errors_a_;  // standard errors by head, of all heads of the run
  std::vector<double> errors_b_;
  GroupValues of_a_;  // of the heads with both values, in unpaired runs
  GroupValues of_b_;
  GroupValues differences_;  // of the same heads, in paired runs
  ColumnComparison result_;
};

}  // namespace

void set_error(Difference& difference, double error, std::size_t groups) {
  difference.error = error;
  // Without an error, or where nothing varies, no probability can be told.
  if (!(difference.error > 0)) return;
  difference.z = difference.difference / difference.error;
  difference.p = student_p(difference.z, static_cast<double>(groups) - 1);
}

void set_error(Difference& difference, const LeaveOneOut& a, const LeaveOneOut& b, bool paired, double unpaired) {
  if (paired) {
    const LeaveOneOut differences = difference_of(a, b);
    set_error(difference, jackknife_error(differences.values), differences.groups.size());
  } else {
    set_error(difference, unpaired, std::min(a.groups.size(), b.groups.size()));
  }
}

std::string_view error_column(std::string_view column) {
  for (const ResultColumn& candidate : result_table(TableId::metrics).columns) {
    if (candidate.error_of == column) return candidate.name;
  }
  return {};
}

Comparison compare(const ComparedRun& a, const ComparedRun& b, const ComparisonOptions& options) {
  refuse_other_shape(a, b);
  const std::vector<MatchedHead> matched = matched_heads(a, b);
  Comparison result;
  result.paired = a.groups && a.groups == b.groups;
  result.documents_a = a.groups ? a.groups->examples : 0;
  result.documents_b = b.groups ? b.groups->examples : 0;
  result.matched = matched.size();
  result.only_a = a.metrics.heads().size() - matched.size();
  result.only_b = b.metrics.heads().size() - matched.size();
  result.level = options.level;
  result.caveats = caveats_of(a, b);
  for (const std::string& column : chosen_columns(a, b, options)) {
    result.columns.push_back(ColumnOfTwoRuns(a, b, matched, result.paired, column).compared(options.level));
  }
  return result;
}

}  // namespace attention_plasticity
