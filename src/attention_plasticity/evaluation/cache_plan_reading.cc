// The reading half of cache_plan_text.h.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/evaluation/cache_plan_text.h"
#include "attention_plasticity/evaluation/published_scores.h"
#include "attention_plasticity/json/json.h"

namespace attention_plasticity {
namespace {

constexpr std::int64_t most_heads = 10'000;
constexpr std::int64_t longest_window = 9'007'199'254'740'992;  // 2^53: what a JSON number holds exactly

[[noreturn]] void refuse(const std::string& file, const std::string& message) {
  throw Error(ErrorKind::input, message, file);
}

std::optional<double> number_or_none(const nlohmann::json& object, const char* key, const std::string& place,
                                     const std::string& file) {
  const auto found = object.find(key);
  if (found != object.end() && found->is_null()) return std::nullopt;
  if (found == object.end() || !found->is_number()) refuse(file, place + key + " should be a number or null");
  return found->get<double>();
}

std::optional<std::string> text_or_none(const nlohmann::json& object, const char* key, const std::string& file) {
  const auto found = object.find(key);
  if (found != object.end() && found->is_null()) return std::nullopt;
  if (found == object.end() || !found->is_string()) refuse(file, fmt::format("{} should be text or null", key));
  return found->get<std::string>();
}

std::size_t word(const nlohmann::json& object, const char* key, std::span<const std::string_view> words,
                 const std::string& place, const std::string& file) {
  const auto found = object.find(key);
  const auto at = found != object.end() && found->is_string()
                      ? std::ranges::find(words, found->get_ref<const std::string&>())
                      : words.end();
  if (at == words.end()) refuse(file, fmt::format("{}{} should be one of {}", place, key, fmt::join(words, ", ")));
  return static_cast<std::size_t>(at - words.begin());
}

PlannedHead planned_head(const nlohmann::json& entry, const std::string& place, const std::string& file) {
  constexpr std::array<std::string_view, 3> kinds{"full", "window", "sliding"};
  PlannedHead head;
  head.kind = static_cast<CacheKind>(word(entry, "kind", kinds, place, file));
  head.score = number_or_none(entry, "score", place, file).value_or(std::nan(""));
  if (head.kind != CacheKind::full) head.window = whole_number_field(entry, "window", 1, longest_window, place, file);
  return head;
}

void read_heads(const nlohmann::json& json, CachePlan& plan, const std::string& file) {
  const auto entries = json.find("heads");
  const std::size_t expected = static_cast<std::size_t>(plan.num_layers) * static_cast<std::size_t>(plan.num_kv_heads);
  if (entries == json.end() || !entries->is_array() || entries->size() != expected) {
    refuse(file, fmt::format("heads should be a list of {}: {} layers of {} KV heads", expected, plan.num_layers,
                             plan.num_kv_heads));
  }
  std::vector<bool> seen(expected);
  plan.heads.resize(expected);
  for (std::size_t i = 0; i < expected; ++i) {
    const nlohmann::json& entry = (*entries)[i];
    const std::string place = fmt::format("heads[{}].", i);
    if (!entry.is_object()) refuse(file, fmt::format("heads[{}] should be an object", i));
    const std::int64_t layer = whole_number_field(entry, "layer", 0, plan.num_layers - 1, place, file);
    const std::int64_t kv_head = whole_number_field(entry, "kv_head", 0, plan.num_kv_heads - 1, place, file);
    const auto at = static_cast<std::size_t>(layer * plan.num_kv_heads + kv_head);
    if (seen[at]) refuse(file, fmt::format("heads[{}]: layer {}, kv_head {} occurs twice", i, layer, kv_head));
    seen[at] = true;
    plan.heads[at] = planned_head(entry, place, file);
  }
}

void check_divides(int num_q_heads, int num_kv_heads, const char* flag) {
  if (num_q_heads % num_kv_heads == 0) return;
  throw Error(ErrorKind::usage,
              fmt::format("{}: the query heads should be a multiple of the KV heads: {} is not a multiple of {}", flag,
                          num_q_heads, num_kv_heads));
}

}  // namespace

PlanFormat cache_plan_format(std::string_view text, const std::string& file) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') {
    return parse_json_object(text, {.file = file, .unique_keys = true}).contains("kind") ? PlanFormat::json
                                                                                         : PlanFormat::scores;
  }
  if (is_score_matrix(text)) return PlanFormat::tsv;
  refuse(file, "is not a plan: it is neither a JSON object nor a matrix of numbers between tabs");
}

CachePlan parse_plan_json(std::string_view text, const std::string& file) {
  constexpr std::array<std::string_view, 2> groups{"max", "mean"};
  constexpr std::array<std::string_view, 1> kind{"attention-plasticity cache plan"};
  const nlohmann::json json = parse_json_object(text, {.file = file, .unique_keys = true});
  word(json, "kind", kind, "", file);
  if (whole_number_field(json, "schema", 1, most_heads, "", file) != 1) {
    refuse(file, "is a plan of a later schema; this program reads schema 1");
  }
  const auto count = [&](const char* key, std::int64_t low, std::int64_t high) {
    return whole_number_field(json, key, low, high, "", file);
  };
  CachePlan plan;
  plan.model = text_or_none(json, "model", file);
  plan.column = text_or_none(json, "column", file);
  if (plan.column) plan.group = static_cast<GroupScore>(word(json, "group", groups, "", file));
  plan.keep = number_or_none(json, "keep", "", file);
  plan.threshold = number_or_none(json, "threshold", "", file);
  plan.window = count("window", 1, longest_window);
  plan.sinks = count("sinks", 0, longest_window);
  plan.num_layers = static_cast<int>(count("num_layers", 1, most_heads));
  plan.num_q_heads = static_cast<int>(count("num_q_heads", 1, most_heads));
  plan.num_kv_heads = static_cast<int>(count("num_kv_heads", 1, most_heads));
  if (plan.num_q_heads % plan.num_kv_heads != 0) refuse(file, "num_q_heads should be a multiple of num_kv_heads");
  read_heads(json, plan, file);
  return plan;
}

CachePlan parse_plan_tsv(std::string_view text, const std::string& file, std::optional<int> num_q_heads,
                         const CachePlanOptions& options) {
  const auto matrix = parse_score_matrix(text, file);
  if (matrix.empty()) refuse(file, "is empty; it should hold a matrix of layers by KV heads");
  CachePlan plan;
  plan.window = options.window;
  plan.sinks = options.sinks;
  plan.num_layers = static_cast<int>(matrix.size());
  plan.num_kv_heads = static_cast<int>(matrix.front().size());
  plan.num_q_heads = num_q_heads.value_or(plan.num_kv_heads);
  check_divides(plan.num_q_heads, plan.num_kv_heads, "`num_q_heads`");
  for (std::size_t layer = 0; layer < matrix.size(); ++layer) {
    for (const double value : matrix[layer]) {
      if (std::isnan(value)) refuse(file, fmt::format("layer {}: nan is neither full nor windowed", layer));
      plan.heads.push_back(value >= 0.5 ? PlannedHead{} : PlannedHead{CacheKind::window, std::nan(""), plan.window});
    }
  }
  return plan;
}

CachePlan parse_plan_scores(std::string_view text, const std::string& file, std::optional<int> num_kv_heads,
                            const CachePlanOptions& options) {
  RunDescription model;
  std::vector<QueryHeadScore> scores;
  for (const PublishedScore& head : parse_score_object(text, file)) {
    model.num_layers = std::max(model.num_layers, head.layer + 1);
    model.num_q_heads = std::max(model.num_q_heads, head.head + 1);
    scores.push_back({head.layer, head.head, head.score});
  }
  model.num_k_heads = num_kv_heads.value_or(model.num_q_heads);
  check_divides(model.num_q_heads, model.num_k_heads, "`num_kv_heads`");
  return plan_cache(model, scores, options, file);
}

}  // namespace attention_plasticity
