#include "attention_plasticity/run/rotation_inference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace attention_plasticity {
namespace {

// By what factor the share of the best way must exceed that of any other.
constexpr double clear_lead = 1.15;
// A layer in which another way has this many times the share of the best way of the dump is left out.
constexpr double layer_differs = 1 / 0.85;

constexpr std::string_view what_to_pass =
    "pass `rope_config` with the model's config.json, `rope_theta`, or `rope: none` for a model without rotation";

std::string layers_text(std::string_view what, const std::vector<int>& layers) {
  if (layers.empty()) return "";
  return fmt::format("; {} in {} {}", what, layers.size() == 1 ? "layer" : "layers", fmt::join(layers, ", "));
}

RotarySettings settings_of(const RotationWay& way, std::size_t width) {
  const DescribedWay described = described_way(way, width);
  RotarySettings settings{.theta = way.theta, .layout = described.layout, .first = described.components.first};
  // The whole width may differ between layers.
  if (described.components.dim != width) settings.dim = described.components.dim;
  return settings;
}

// The largest share of a layer under any way.
double largest_share(const EnergyShares& layer, const std::vector<RefinedWay>& refined, std::size_t index) {
  double largest = 0;
  for (const double share : layer.known) largest = share > largest ? share : largest;
  for (const RefinedWay& way : refined) largest = std::max(largest, way.of_layer[index]);
  return largest;
}

// Whether two ways rotate the pairs that they share by nearly the same frequencies. Interleaved pairs of a part are
// also pairs of the whole: theta 1e4 over the first half and 1e8 over all components differ only in pairs that hardly
// rotate. The one with the larger share is taken, and need not lead clearly.
bool is_nearly_same(const RotationWay& one, const RotationWay& other, std::size_t width) {
  const DescribedWay a = described_way(one, width);
  const DescribedWay b = described_way(other, width);
  if (one == other) return true;
  if (a.layout != RotaryLayout::interleaved || b.layout != RotaryLayout::interleaved) return false;
  if (a.components.first != b.components.first) return false;
  // The logarithm of the ratio of neighbouring frequencies.
  const double step = std::log(a.theta) / static_cast<double>(a.components.dim);
  const double other_step = std::log(b.theta) / static_cast<double>(b.components.dim);
  return std::abs(step / other_step - 1) < 0.02;
}

InferredRotation nothing(std::optional<RotationShares> shares, std::string_view reason) {
  return {.rotation = std::nullopt,
          .shares = std::move(shares),
          .line = fmt::format("position-exact plasticity is left out, since {}: {}", reason, what_to_pass)};
}

InferredRotation no_rotation(RotationShares shares) {
  const double share = shares.dump.known.front();
  shares.dump.configured = share;
  for (LayerShares& layer : shares.layers) layer.shares.configured = layer.shares.known.front();
  return {.rotation = DumpRotation{ModelRotation::none(), 0, RotationSource::inferred},
          .shares = std::move(shares),
          .line = fmt::format("the vectors look as if the model did not rotate them (a share of {:.3f} of their energy "
                              "does not depend on position), and are analysed so; vectors captured before the rotation "
                              "look the same, and need `rope_config` and `vectors: pre`",
                              share),
          .may_be_wrong = true};
}

InferredRotation rotation_of(const RefinedWay& best, double next, RotationShares shares,
                             const std::vector<RefinedWay>& refined) {
  std::vector<int> without;
  std::set<int> unknown;
  for (std::size_t i = 0; i < shares.layers.size(); ++i) {
    auto& [layer, energy] = shares.layers[i];
    const double own = best.of_layer[i];
    const double none = energy.known.front();
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
  const DescribedWay way = described_way(best.way, shares.width);
  InferredRotation inferred;
  inferred.line = fmt::format(
      "the rotation is inferred from the vectors: {} (a share of {:.3f} of their energy does not depend on position, "
      "{:.3f} at most otherwise){}{}; to be sure, pass the model's config.json as `rope_config`",
      way.text(shares.width), best.share, next, layers_text("none", without),
      layers_text("unknown, so no `ap_exact`,", {unknown.begin(), unknown.end()}));
  RotationOrigin origin{.settings = settings_of(best.way, shares.width), .layers_without = std::move(without)};
  ModelRotation model = origin.model();
  inferred.rotation =
      DumpRotation{std::move(model), 0, RotationSource::inferred, std::move(unknown), std::move(origin)};
  inferred.shares = std::move(shares);
  return inferred;
}

}  // namespace

std::vector<RefinedWay> refined_ways(RotationEvidence& evidence, const RunConfig& config) {
  std::vector<RefinedWay> ways;
  std::vector<RotationOfLayer> rotations;
  const std::vector<const RowSample*> samples = evidence.samples(config);
  for (const RotationShape& shape : rotation_shapes()) {
    const double theta = refined_theta(samples, shape);
    if (theta == 0) continue;
    const RotationWay way{shape, theta};
    ways.push_back({way, 0, {}});
    rotations.emplace_back([way](int, std::size_t width) { return attention_plasticity::rotation_of(way, width); });
  }
  evidence.measure(rotations, config);
  const RotationShares shares = evidence.shares();
  for (std::size_t i = 0; i < ways.size(); ++i) {
    ways[i].share = shares.dump.further[i];
    for (const LayerShares& layer : shares.layers) ways[i].of_layer.push_back(layer.shares.further[i]);
  }
  std::erase_if(ways, [](const RefinedWay& way) { return std::isnan(way.share); });
  std::ranges::stable_sort(ways, std::ranges::greater{}, &RefinedWay::share);
  return ways;
}

InferredRotation inferred_rotation(RotationShares shares, const std::vector<RefinedWay>& refined) {
  const double none = shares.dump.known.front();
  const double best = refined.empty() ? none : std::max(none, refined.front().share);
  // False for NaN too.
  const bool is_decided = best >= least_decided_share;
  if (!is_decided) {
    return nothing(std::move(shares), "the model's rotation is unknown and does not show in the vectors");
  }
  if (none >= best) return no_rotation(std::move(shares));
  double next = none;
  for (const RefinedWay& other : refined) {
    if (!is_nearly_same(refined.front().way, other.way, shares.width)) next = std::max(next, other.share);
  }
  if (refined.front().share < clear_lead * next) {
    return nothing(std::move(shares), "the model's rotation is unknown and does not show clearly in the vectors");
  }
  return rotation_of(refined.front(), next, std::move(shares), refined);
}

const char* const pre_vectors_show_no_rotation =
    "position-exact plasticity is left out, since the model's rotation is unknown and vectors captured before it do "
    "not "
    "show it: pass `rope_config` with the model's config.json, or `rope_theta`";

InferredRotation infer_rotation(std::vector<RotationFile> files, const RunConfig& config) {
  RotationEvidence evidence(std::move(files), {}, {});
  evidence.read_all(config);
  if (evidence.empty()) return nothing(std::nullopt, "the model's rotation is unknown");
  const std::vector<RefinedWay> refined = refined_ways(evidence, config);
  return inferred_rotation(evidence.shares(), refined);
}

}  // namespace attention_plasticity
