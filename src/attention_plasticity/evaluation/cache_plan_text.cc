#include "attention_plasticity/evaluation/cache_plan_text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "attention_plasticity/json/json.h"

namespace attention_plasticity {
namespace {

constexpr std::array kind_names{"full", "window", "sliding"};
constexpr std::array group_names{"max", "mean"};

// One head per line: a plan of a thousand heads stays readable, and a diff of two plans shows the heads that differ.
std::string plan_json(const CachePlan& plan) {
  const Json header{{"schema", 1},
                    {"kind", "attention-plasticity cache plan"},
                    {"model", value_or_null(plan.model)},
                    {"column", value_or_null(plan.column)},
                    {"group", plan.column ? Json(group_names[static_cast<std::size_t>(plan.group)]) : Json(nullptr)},
                    {"keep", value_or_null(plan.keep)},
                    {"threshold", value_or_null(plan.threshold)},
                    {"window", plan.window},
                    {"sinks", plan.sinks},
                    {"num_layers", plan.num_layers},
                    {"num_q_heads", plan.num_q_heads},
                    {"num_kv_heads", plan.num_kv_heads}};
  std::string text = "{\n";
  for (const auto& [key, value] : header.items()) text += fmt::format("  \"{}\": {},\n", key, json_text(value));
  text += "  \"heads\": [";
  for (int layer = 0; layer < plan.num_layers; ++layer) {
    for (int kv_head = 0; kv_head < plan.num_kv_heads; ++kv_head) {
      const PlannedHead& head = plan.head(layer, kv_head);
      const Json entry{{"layer", layer},
                       {"kv_head", kv_head},
                       {"kind", kind_names[static_cast<std::size_t>(head.kind)]},
                       {"score", head.score},
                       {"window", head.kind == CacheKind::full ? Json(nullptr) : Json(head.window)}};
      text += fmt::format("{}\n    {}", layer + kv_head == 0 ? "" : ",", json_text(entry));
    }
  }
  return text + "\n  ]\n}\n";
}

std::string plan_tsv(const CachePlan& plan) {
  std::string text;
  for (int layer = 0; layer < plan.num_layers; ++layer) {
    for (int kv_head = 0; kv_head < plan.num_kv_heads; ++kv_head) {
      text += plan.head(layer, kv_head).kind == CacheKind::window ? '0' : '1';
      text += kv_head + 1 < plan.num_kv_heads ? '\t' : '\n';
    }
  }
  return text;
}

double published_score(const PlannedHead& head) {
  if (!std::isnan(head.score)) return head.score;
  return head.kind == CacheKind::window ? 0.0 : 1.0;
}

std::string plan_scores(const CachePlan& plan) {
  const int group = plan.num_q_heads / plan.num_kv_heads;
  std::string text = "{";
  for (int layer = 0; layer < plan.num_layers; ++layer) {
    for (int q_head = 0; q_head < plan.num_q_heads; ++q_head) {
      text += fmt::format("{}\n  \"{}-{}\": [{}]", layer + q_head == 0 ? "" : ",", layer, q_head,
                          json_text(published_score(plan.head(layer, q_head / group))));
    }
  }
  return text + "\n}\n";
}

}  // namespace

std::string cache_plan_text(const CachePlan& plan, PlanFormat format) {
  switch (format) {
    case PlanFormat::json:
      return plan_json(plan);
    case PlanFormat::tsv:
      return plan_tsv(plan);
    case PlanFormat::scores:
      return plan_scores(plan);
  }
  return {};
}

}  // namespace attention_plasticity
