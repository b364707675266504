#include "attention_plasticity/evaluation/cache_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "attention_plasticity/base/nearest_name.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/stats/rank.h"

namespace attention_plasticity {
namespace {

// Bounds the memory that one wrong index would take; no model has so many heads.
constexpr std::int64_t most_query_heads = 1'000'000;

// The number of query heads that read one KV head.
int group_size(const RunDescription& model, const std::string& file) {
  if (model.num_k_heads > 0 && model.num_q_heads > 0 && model.num_q_heads % model.num_k_heads == 0) {
    return model.num_q_heads / model.num_k_heads;
  }
  throw Error(ErrorKind::input,
              fmt::format("{} query heads are not a multiple of {} KV heads", model.num_q_heads, model.num_k_heads),
              file);
}

// The scores of all query heads, layer by layer and group by group; NaN for a head without a score.
std::vector<double> score_grid(const RunDescription& model, std::span<const QueryHeadScore> scores,
                               const std::string& file) {
  if (std::int64_t{model.num_layers} * model.num_q_heads > most_query_heads) {
    throw Error(
        ErrorKind::input,
        fmt::format("{} layers of {} query heads are more than any model has", model.num_layers, model.num_q_heads),
        file);
  }
  const auto heads = static_cast<std::size_t>(model.num_q_heads);
  std::vector<double> grid(static_cast<std::size_t>(model.num_layers) * heads, std::nan(""));
  for (const QueryHeadScore& head : scores) {
    if (head.layer >= model.num_layers || head.q_head >= model.num_q_heads) {
      throw Error(ErrorKind::input,
                  fmt::format("layer {}, q_head {} lies outside the model: {} layers of {} query heads", head.layer,
                              head.q_head, model.num_layers, model.num_q_heads),
                  file);
    }
    grid[static_cast<std::size_t>(head.layer) * heads + static_cast<std::size_t>(head.q_head)] = head.score;
  }
  return grid;
}

// NaN when one of the scores is NaN: the head that was not measured may be the one that needs its cache.
double group_score(std::span<const double> scores, GroupScore group) {
  double sum = 0;
  double largest = scores.front();
  for (const double score : scores) {
    if (std::isnan(score)) return score;
    sum += score;
    largest = std::max(largest, score);
  }
  return group == GroupScore::max ? largest : sum / static_cast<double>(scores.size());
}

void refuse_missing(const CachePlan& plan, const std::string& file) {
  constexpr std::size_t shown = 3;
  std::size_t missing = 0;
  std::vector<std::string> first;
  for (std::size_t i = 0; i < plan.heads.size(); ++i) {
    if (plan.heads[i].kind == CacheKind::sliding || !std::isnan(plan.heads[i].score)) continue;
    const auto heads = static_cast<std::size_t>(plan.num_kv_heads);
    if (missing++ < shown) first.push_back(fmt::format("layer {} kv_head {}", i / heads, i % heads));
  }
  if (missing == 0) return;
  throw Error(ErrorKind::input,
              fmt::format("{} of {} KV heads have query heads without {}: {}{}; analyse all heads, or pass `missing: "
                          "full` to leave these full",
                          missing, plan.heads.size(), plan.column.value_or("a score"), fmt::join(first, ", "),
                          missing > shown ? ", ..." : ""),
              file);
}

void keep_share(CachePlan& plan, double share) {
  std::vector<PlannedHead*> scored;
  for (PlannedHead& head : plan.heads) {
    if (!std::isnan(head.score)) scored.push_back(&head);
  }
  // Stable: equal scores stay in the order of layers and heads.
  std::ranges::stable_sort(scored, std::greater(), [](const PlannedHead* head) { return head->score; });
  // Users write shares as decimals. 0.285 of 100 heads is 28.5, which rounds up, but the product of doubles is smaller.
  const auto kept = static_cast<std::size_t>(std::floor(share * static_cast<double>(scored.size()) + 0.5 + 1e-9));
  for (std::size_t i = kept; i < scored.size(); ++i) scored[i]->kind = CacheKind::window;
}

RunDescription model_of(const HeadMetrics& metrics) {
  RunDescription model;
  model.num_k_heads = 1;
  for (const HeadId& head : metrics.heads()) {
    model.num_layers = std::max(model.num_layers, head.layer + 1);
    model.num_q_heads = std::max(model.num_q_heads, head.q_head + 1);
    model.num_k_heads = std::max(model.num_k_heads, head.k_head + 1);
  }
  if (model.num_q_heads % model.num_k_heads != 0) {
    throw Error(
        ErrorKind::input,
        fmt::format("holds only a part of the heads: {} query heads are not a multiple of {} key heads; put the "
                    "run.json of the run beside it",
                    model.num_q_heads, model.num_k_heads),
        metrics.file());
  }
  return model;
}

void check_groups(const HeadMetrics& metrics, const RunDescription& model) {
  const int group = group_size(model, metrics.file());
  for (const HeadId& head : metrics.heads()) {
    if (head.q_head / group == head.k_head) continue;
    throw Error(
        ErrorKind::input,
        fmt::format("layer {}: q_head {} reads k_head {}, but with {} query heads and {} key heads it should read {}; "
                    "put the run.json of the run beside it",
                    head.layer, head.q_head, head.k_head, model.num_q_heads, model.num_k_heads, head.q_head / group),
        metrics.file());
  }
}

std::int64_t planned_tokens(const CachePlan& plan, const PlannedHead& head, std::int64_t tokens) {
  switch (head.kind) {
    case CacheKind::full:
      return tokens;
    case CacheKind::window:
      return std::min(tokens, head.window + plan.sinks);
    case CacheKind::sliding:
      return std::min(tokens, head.window);
  }
  return tokens;
}

// One name of `column`: "-outside" is the column outside in descending order.
struct ScoreColumn {
  std::string_view name;
  bool negated = false;
};

std::vector<ScoreColumn> score_columns(std::string_view text) {
  std::vector<ScoreColumn> columns;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string_view name = trimmed_text(text.substr(begin, end - begin));
    begin = end + 1;
    const bool negated = name.starts_with('-');
    if (negated) name = trimmed_text(name.substr(1));
    if (name.empty()) {
      throw Error(ErrorKind::usage, fmt::format("`column`: {} has an empty name; write one or several columns, "
                                                "separated by commas",
                                                quoted_text(text)));
    }
    columns.push_back({name, negated});
  }
  return columns;
}

// The values of a label for the heads of the metrics.
std::vector<double> label_values(const HeadLabels& labels, const HeadLabel& label, std::span<const HeadId> heads) {
  std::vector<double> values;
  values.reserve(heads.size());
  for (const HeadId& head : heads) {
    const auto index = labels.find(head);
    values.push_back(index ? label.values[*index] : std::nan(""));
  }
  return values;
}

std::vector<double> column_values(const HeadMetrics& metrics, const HeadLabels* labels, std::string_view name) {
  const HeadLabel* label = nullptr;
  if (labels != nullptr) {
    const auto found = std::ranges::find(labels->labels, name, &HeadLabel::name);
    if (found != labels->labels.end()) label = &*found;
  }
  if (label != nullptr && metrics.has(name)) {
    throw Error(ErrorKind::usage, fmt::format("`column`: both {} and {} have {}; rename it in one of them",
                                              metrics.file(), labels->file, name));
  }
  if (label != nullptr) return label_values(*labels, *label, metrics.heads());
  if (name == "ap_exact" && !metrics.has(name)) {
    throw Error(ErrorKind::input,
                "has no ap_exact, which is measured only when the model's rotation is known; choose another column "
                "with `column`",
                metrics.file());
  }
  if (labels != nullptr && !metrics.has(name)) {
    std::vector<std::string_view> names = metrics.measures();
    for (const HeadLabel& known : labels->labels) names.emplace_back(known.name);
    const auto nearest = nearest_name(name, names);
    throw Error(ErrorKind::usage,
                fmt::format("neither {} nor {} has a column {}{}", metrics.file(), labels->file, quoted_text(name),
                            nearest ? fmt::format("; did you mean {}?", *nearest) : ""));
  }
  return metrics.values(name);
}

// The scores of the KV heads by one column; NaN where there is none.
std::vector<double> kv_scores(const RunDescription& model, std::span<const QueryHeadScore> scores, GroupScore group,
                              const std::string& file) {
  const std::vector<double> grid = score_grid(model, scores, file);
  const auto size = static_cast<std::size_t>(group_size(model, file));
  std::vector<double> heads(grid.size() / size);
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const bool slides = model.windows.contains(static_cast<int>(i / static_cast<std::size_t>(model.num_k_heads)));
    heads[i] = slides ? std::nan("") : group_score(std::span(grid).subspan(i * size, size), group);
  }
  return heads;
}

// The mean rank of each KV head in [0, 1]; NaN for a head without a score in one of the columns.
std::vector<double> mean_ranks(std::span<const std::vector<double>> columns) {
  std::vector<double> means(columns.front().size(), 0.0);
  for (const std::vector<double>& column : columns) {
    for (std::size_t i = 0; i < means.size(); ++i) {
      if (std::isnan(column[i])) means[i] = std::nan("");
    }
  }
  std::vector<std::size_t> scored;
  for (std::size_t i = 0; i < means.size(); ++i) {
    if (!std::isnan(means[i])) scored.push_back(i);
  }
  std::vector<double> values(scored.size());
  for (const std::vector<double>& column : columns) {
    std::ranges::transform(scored, values.begin(), [&](std::size_t i) { return column[i]; });
    const std::vector<double> ranks = average_ranks(values);
    for (std::size_t k = 0; k < scored.size(); ++k) {
      // One head alone has rank 1 of 1; it counts as the highest.
      means[scored[k]] += scored.size() > 1 ? (ranks[k] - 1) / static_cast<double>(scored.size() - 1) : 1.0;
    }
  }
  for (double& mean : means) mean /= static_cast<double>(columns.size());
  return means;
}

CachePlan plan_of_scores(const RunDescription& model, std::span<const double> scores, const CachePlanOptions& options,
                         const std::string& file) {
  CachePlan plan{model.model,
                 options.column,
                 options.group,
                 options.keep,
                 options.threshold,
                 options.window,
                 options.sinks,
                 model.num_layers,
                 model.num_q_heads,
                 model.num_k_heads,
                 std::vector<PlannedHead>(scores.size())};
  for (std::size_t i = 0; i < plan.heads.size(); ++i) {
    PlannedHead& head = plan.heads[i];
    const auto window = model.windows.find(static_cast<int>(i / static_cast<std::size_t>(model.num_k_heads)));
    if (window != model.windows.end()) {
      head.kind = CacheKind::sliding;
      head.window = window->second;
      continue;
    }
    head.score = scores[i];
    if (options.threshold && head.score < *options.threshold) head.kind = CacheKind::window;
  }
  if (!options.keep_missing) refuse_missing(plan, file);
  if (options.keep) keep_share(plan, *options.keep);
  for (PlannedHead& head : plan.heads) {
    if (head.kind == CacheKind::window) head.window = options.window;
  }
  return plan;
}

}  // namespace

std::size_t CachePlan::count(CacheKind kind) const {
  return static_cast<std::size_t>(std::ranges::count(heads, kind, &PlannedHead::kind));
}

void check(const CachePlanOptions& options) {
  constexpr std::int64_t longest = 1'000'000'000'000;
  const auto refuse = [](const char* message) { throw Error(ErrorKind::usage, message); };
  if (options.keep.has_value() == options.threshold.has_value()) {
    refuse("a plan needs one of `keep` (the share of KV heads that stay full) and `threshold` (their least score)");
  }
  const bool is_share = !options.keep || (*options.keep >= 0 && *options.keep <= 1);
  if (!is_share) refuse("`keep`: should be a share from 0 to 1");
  if (options.threshold && !std::isfinite(*options.threshold)) refuse("`threshold`: should be a finite number");
  if (options.window < 1 || options.window > longest) refuse("`window`: should be 1 to 10^12 tokens");
  if (options.sinks < 0 || options.sinks > longest) refuse("`sinks`: should be 0 to 10^12 tokens");
}

CachePlan plan_cache(const RunDescription& model, std::span<const QueryHeadScore> scores,
                     const CachePlanOptions& options, const std::string& file) {
  check(options);
  return plan_of_scores(model, kv_scores(model, scores, options.group, file), options, file);
}

CachePlan plan_cache(const HeadMetrics& metrics, const std::optional<RunDescription>& run,
                     const CachePlanOptions& options, const HeadLabels* labels) {
  check(options);
  const std::vector<ScoreColumn> names = score_columns(options.column);
  const RunDescription model = run ? *run : model_of(metrics);
  check_groups(metrics, model);
  if (labels != nullptr) fit_labels(*labels, metrics.heads(), run, metrics.file());
  std::vector<std::vector<double>> columns;
  columns.reserve(names.size());
  for (const ScoreColumn& column : names) {
    const std::vector<double> values = column_values(metrics, labels, column.name);
    std::vector<QueryHeadScore> scores;
    scores.reserve(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const HeadId& head = metrics.heads()[i];
      scores.push_back({head.layer, head.q_head, column.negated ? -values[i] : values[i]});
    }
    columns.push_back(kv_scores(model, scores, options.group, metrics.file()));
  }
  return plan_of_scores(model, columns.size() == 1 ? columns.front() : mean_ranks(columns), options, metrics.file());
}

double cache_saved(const CachePlan& plan, std::int64_t tokens) {
  double now = 0;
  double planned = 0;
  for (const PlannedHead& head : plan.heads) {
    const std::int64_t kept = planned_tokens(plan, head, tokens);
    planned += static_cast<double>(kept);
    now += static_cast<double>(head.kind == CacheKind::sliding ? kept : tokens);
  }
  return now > 0 ? 1 - planned / now : 0;
}

}  // namespace attention_plasticity
