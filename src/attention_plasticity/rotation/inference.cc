#include "attention_plasticity/rotation/inference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace attention_plasticity {
namespace {

// The factor by which the share of the best candidate must exceed that of any other.
constexpr double clear_lead = 1.15;
// A layer in which another candidate has this many times the share of the best one of the dump is left out.
constexpr double layer_differs = 1 / 0.85;

constexpr std::string_view what_to_pass =
    "pass `rope_config` with the model's config.json, `rope_theta`, or `rope: none` for a model without rotation";

std::string layers_text(std::string_view what, const std::vector<int>& layers) {
  if (layers.empty()) return "";
  return fmt::format("; {} in {} {}", what, layers.size() == 1 ? "layer" : "layers", fmt::join(layers, ", "));
}

RotarySettings settings_of(const RotationCandidate& candidate, std::size_t width) {
  const ComponentRange components = candidate.components(width);
  RotarySettings settings{.theta = candidate.theta, .first = components.first};
  if (candidate.shape) settings.layout = candidate.shape->layout;
  // The whole width may differ between layers.
  if (components.dim != width) settings.dim = components.dim;
  return settings;
}

// The largest share of a layer under any candidate.
double largest_share(const FixedEnergy& layer, const std::vector<RefinedCandidate>& refined, std::size_t index) {
  double largest = 0;
  for (const double share : layer.common) largest = share > largest ? share : largest;
  for (const RefinedCandidate& other : refined) largest = std::max(largest, other.of_layer[index]);
  return largest;
}

// True if two candidates rotate the pairs that they share by nearly the same frequencies. Interleaved pairs of a part
// are also pairs of the whole: theta 1e4 over the first half and 1e8 over all components differ only in pairs that
// hardly rotate. The one with the larger share is taken, and need not lead clearly.
bool is_nearly_same(const RotationCandidate& one, const RotationCandidate& other, std::size_t width) {
  if (one == other) return true;
  const auto is_interleaved = [](const RotationCandidate& candidate) {
    return candidate.shape && candidate.shape->layout == RotaryLayout::interleaved;
  };
  if (!is_interleaved(one) || !is_interleaved(other)) return false;
  const ComponentRange a = one.components(width);
  const ComponentRange b = other.components(width);
  if (a.first != b.first) return false;
  // The logarithm of the ratio of neighbouring frequencies.
  const double step = std::log(one.theta) / static_cast<double>(a.dim);
  const double other_step = std::log(other.theta) / static_cast<double>(b.dim);
  return std::abs(step / other_step - 1) < 0.02;
}

InferredRotation nothing(std::optional<RotationShares> shares, std::string_view reason) {
  return {.rotation = std::nullopt,
          .shares = std::move(shares),
          .line = fmt::format("position-exact plasticity is left out, since {}: {}", reason, what_to_pass)};
}

InferredRotation no_rotation(RotationShares shares) {
  const double share = shares.dump.common.front();
  shares.dump.configured = share;
  for (LayerShares& layer : shares.layers) layer.shares.configured = layer.shares.common.front();
  return {.rotation = DumpRotation{ModelRotation::none(), 0, RotationSource::inferred},
          .shares = std::move(shares),
          .line = fmt::format("the vectors look as if the model did not rotate them (a share of {:.3f} of their energy "
                              "does not depend on position), and are analysed so; vectors captured before the rotation "
                              "look the same, and need `rope_config` and `vectors: pre`",
                              share),
          .may_be_wrong = true};
}

InferredRotation rotation_of(const RefinedCandidate& best, double next, RotationShares shares,
                             const std::vector<RefinedCandidate>& refined) {
  std::vector<int> without;
  std::set<int> unknown;
  for (std::size_t i = 0; i < shares.layers.size(); ++i) {
    auto& [layer, energy] = shares.layers[i];
    const double own = best.of_layer[i];
    const double none = energy.common.front();
    const double largest = largest_share(energy, refined, i);
    energy.configured = own;
    if (largest < least_decided_share) continue;
    const bool has_none = none >= clear_lead * own;
    if (has_none) energy.configured = none;
    if (largest >= layer_differs * energy.configured) {
      unknown.insert(layer);
      energy.configured = std::numeric_limits<double>::quiet_NaN();
    } else if (has_none) {
      without.push_back(layer);
    }
  }
  shares.dump.configured = best.share;
  InferredRotation inferred;
  inferred.line = fmt::format(
      "the rotation is inferred from the vectors: {} (a share of {:.3f} of their energy does not depend on position, "
      "{:.3f} at most otherwise){}{}; to be sure, pass the model's config.json as `rope_config`",
      best.candidate.text(shares.width), best.share, next, layers_text("none", without),
      layers_text("unknown, so no `ap_exact`,", {unknown.begin(), unknown.end()}));
  RotationOrigin origin{.settings = settings_of(best.candidate, shares.width), .layers_without = std::move(without)};
  ModelRotation model = origin.model();
  inferred.rotation =
      DumpRotation{std::move(model), 0, RotationSource::inferred, std::move(unknown), std::move(origin)};
  inferred.shares = std::move(shares);
  return inferred;
}

// Each common shape with the theta that is refined on the samples.
std::vector<RotationCandidate> refined_shapes(const std::vector<HeadSide>& heads, const RotationRows& rows) {
  std::vector<RowSample> samples;
  for_each_readable(heads, rows, [&](const HeadSide&, const RowsView& own) { samples.emplace_back(own); });
  std::vector<const RowSample*> pointers;
  pointers.reserve(samples.size());
  for (const RowSample& sample : samples) pointers.push_back(&sample);
  std::vector<RotationCandidate> candidates;
  for (const RotationShape& shape : common_shapes()) {
    const double theta = refined_theta(pointers, shape);
    if (theta > 0) candidates.push_back({shape, theta});
  }
  return candidates;
}

}  // namespace

std::optional<ObservedRotation> observe_rotation(const std::vector<HeadSide>& heads, const RotationRows& rows,
                                                 const RotationOfLayer& configured) {
  const std::vector<HeadSide> judged = judged_heads(heads);
  const std::vector<RotationCandidate> candidates = refined_shapes(heads_for_inference(judged), rows);
  std::vector<RotationOfLayer> further;
  further.reserve(candidates.size());
  for (const RotationCandidate& candidate : candidates) further.push_back(in_every_layer(candidate));
  EvidenceMeter meter(configured, std::move(further));
  RotationEvidence evidence;
  for_each_readable(judged, rows, [&](const HeadSide& head, const RowsView& own) {
    evidence[head] = meter.measure(head.head.layer, own);
  });
  std::optional<RotationShares> shares = shares_of(evidence, candidates.size());
  if (!shares) return std::nullopt;
  ObservedRotation observed{*std::move(shares), {}};
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (std::isnan(observed.shares.dump.further[i])) continue;
    RefinedCandidate& refined = observed.refined.emplace_back();
    refined.candidate = candidates[i];
    refined.share = observed.shares.dump.further[i];
    for (const LayerShares& layer : observed.shares.layers) refined.of_layer.push_back(layer.shares.further[i]);
  }
  std::ranges::stable_sort(observed.refined, std::ranges::greater{}, &RefinedCandidate::share);
  return observed;
}

InferredRotation decide_rotation(ObservedRotation observed) {
  auto& [shares, refined] = observed;
  const double none = shares.dump.common.front();
  const double best = refined.empty() ? none : std::max(none, refined.front().share);
  // False for NaN too.
  const bool is_decided = best >= least_decided_share;
  if (!is_decided) {
    return nothing(std::move(shares), "the model's rotation is unknown and does not show in the vectors");
  }
  if (none >= best) return no_rotation(std::move(shares));
  double next = none;
  for (const RefinedCandidate& other : refined) {
    if (!is_nearly_same(refined.front().candidate, other.candidate, shares.width)) next = std::max(next, other.share);
  }
  if (refined.front().share < clear_lead * next) {
    return nothing(std::move(shares), "the model's rotation is unknown and does not show clearly in the vectors");
  }
  return rotation_of(refined.front(), next, std::move(shares), refined);
}

InferredRotation infer_rotation(const std::vector<HeadSide>& heads, const RotationRows& rows) {
  std::optional<ObservedRotation> observed = observe_rotation(heads, rows, {});
  if (!observed) return nothing(std::nullopt, "the model's rotation is unknown");
  return decide_rotation(*std::move(observed));
}

}  // namespace attention_plasticity
