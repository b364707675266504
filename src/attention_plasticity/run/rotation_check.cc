#include "attention_plasticity/run/rotation_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attention_plasticity/error.h"
#include "attention_plasticity/rotary/rotary_parameters.h"

namespace attention_plasticity {
namespace {

// Below these shares of the best way's share, the configured way is doubted.
constexpr double enough_in_dump = 0.95;
constexpr double enough_in_layer = 0.85;
// A refined theta is measured on all files only if it gains so much on the files that it was refined on, where it gains
// most. It would have to gain 5 % on all files to matter.
constexpr double worth_measuring = 1.01;

// Of the theta in a message. 4 digits: theta is not known better.
std::string theta_text(double theta) {
  const double unit = std::pow(10, std::floor(std::log10(theta)) - 3);
  return fmt::format("{:.0f}", std::round(theta / unit) * unit);
}

// A way, and where its shares are.
struct Candidate {
  DescribedWay way;
  std::function<double(const EnergyShares&)> share;
  bool is_described = false;  // the rotation that the settings describe, of a run with `vectors: pre`
};

RotationOfLayer every_layer(const DescribedWay& way) {
  return [way](int, std::size_t width) -> std::optional<Rotation> {
    if (way.components.first + way.components.dim > width) return std::nullopt;
    RotaryParameters parameters;
    parameters.theta = way.theta;
    Rotation rotation = make_rotation(parameters, way.components.dim, way.layout.value_or(RotaryLayout::half), 0);
    rotation.first = way.components.first;
    return rotation;
  };
}

// The share of the kept samples that is fixed.
double sampled_share(const std::vector<const RowSample*>& samples,
                     const std::function<std::optional<Rotation>(const RowSample&)>& rotation) {
  double fixed = 0;
  double energy = 0;
  for (const RowSample* sample : samples) {
    if (const std::optional<Rotation> own = rotation(*sample)) fixed += fixed_under(*sample, *own);
    energy += sample->energy();
  }
  return fixed / energy;
}

class Check {
 public:
  Check(RotationEvidence& evidence, const PreparedRun& prepared, const RunConfig& config)
      : evidence_(evidence), prepared_(prepared), config_(config), shares_(evidence.shares()) {
    const std::span<const RotationWay> known = known_ways();
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (std::isnan(shares_.dump.known[i])) continue;
      candidates_.push_back(
          {described_way(known[i], shares_.width), [i](const EnergyShares& s) { return s.known[i]; }});
    }
    find_configured();
    if (is_pre() && configured_ && configured_->layout) {
      candidates_.push_back({*configured_, [](const EnergyShares& shares) { return shares.described; }, true});
    }
  }

  std::string complaint() {
    if (std::isnan(shares_.dump.configured)) return {};
    add_refined_thetas();
    if (!is_doubtful(shares_.dump, enough_in_dump)) return complaint_about_layers();
    const Candidate* best = best_of(shares_.dump);
    for (const Candidate& candidate : candidates_) {
      // What the settings describe already is the simplest advice.
      const bool fits = candidate.share(shares_.dump) >= enough_in_dump * best->share(shares_.dump);
      if (candidate.is_described && fits) best = &candidate;
    }
    return complaint_about_dump(*best);
  }

 private:
  bool is_pre() const { return config_.analysis.vectors == Vectors::pre; }

  // The configured way of the first layer that has a rotation.
  void find_configured() {
    if (!prepared_.rotation) return;
    for (const LayerShares& layer : shares_.layers) {
      LayerRotation found;
      try {
        found = prepared_.rotation->layer(layer.layer, shares_.width);
      } catch (const Error&) {
        continue;  // the heads of this layer have failed
      }
      configured_ = DescribedWay{std::nullopt, {}, 0};
      if (found.rotation.dim() == 0) continue;
      rotation_ = found.rotation;
      configured_ = DescribedWay{rotation_.layout, {rotation_.first, rotation_.dim()}, found.theta};
      return;
    }
  }

  const Candidate* best_of(const EnergyShares& shares) const {
    const Candidate* best = nullptr;
    for (const Candidate& candidate : candidates_) {
      if (std::isnan(candidate.share(shares))) continue;
      if (best == nullptr || candidate.share(shares) > best->share(shares)) best = &candidate;
    }
    return best;
  }

  bool is_doubtful(const EnergyShares& shares, double enough) const {
    const Candidate* const best = best_of(shares);
    if (best == nullptr || std::isnan(shares.configured)) return false;
    const double most = best->share(shares);
    return most >= least_decided_share && shares.configured < enough * most;
  }

  // The configured layout and part with a theta of its own, and the same for the best way if that is another one.
  void add_refined_thetas() {
    std::vector<DescribedWay> refined;
    const std::vector<const RowSample*> samples = evidence_.samples(config_);
    const auto refine = [&](DescribedWay way, double gained_over) {
      way.theta = refined_theta(samples, *way.layout, way.components);
      if (way.theta == 0 || is_known(way)) return;
      const RotationOfLayer rotation = every_layer(way);
      const double share = sampled_share(samples, [&](const RowSample& sample) { return rotation(0, sample.width()); });
      if (share > worth_measuring * gained_over) refined.push_back(way);
    };
    const bool rotates = configured_ && configured_->layout && !is_pre();
    if (rotates) refine(*configured_, configured_sampled_share(samples));
    if (is_doubtful(shares_.dump, enough_in_dump)) {
      const DescribedWay best = best_of(shares_.dump)->way;
      const bool refined_already =
          rotates && best.layout == configured_->layout && best.components == configured_->components;
      if (best.layout && !refined_already) {
        const RotationOfLayer rotation = every_layer(best);
        refine(best, sampled_share(samples, [&](const RowSample& s) { return rotation(0, s.width()); }));
      }
    }
    if (refined.empty()) return;
    std::vector<RotationOfLayer> rotations;
    rotations.reserve(refined.size());
    for (std::size_t i = 0; i < refined.size(); ++i) {
      rotations.push_back(every_layer(refined[i]));
      candidates_.push_back({refined[i], [i](const EnergyShares& shares) { return shares.further[i]; }});
    }
    evidence_.measure(rotations, config_);
    shares_ = evidence_.shares();
  }

  bool is_known(const DescribedWay& way) const {
    return std::ranges::any_of(candidates_, [&](const Candidate& candidate) {
      return candidate.way.theta == way.theta && candidate.way.layout == way.layout &&
             candidate.way.components == way.components;
    });
  }

  // Samples do not tell their layers, so the configured way of the first rotated layer stands for all.
  double configured_sampled_share(const std::vector<const RowSample*>& samples) const {
    return sampled_share(samples, [&](const RowSample& sample) -> std::optional<Rotation> {
      if (sample.width() != shares_.width) return std::nullopt;
      return rotation_;
    });
  }

  std::string configured_text() const {
    if (!configured_ || !configured_->layout) return "without rotation, as configured";
    if (is_pre()) return "as they are, as `vectors: pre` says";
    return fmt::format("as configured ({})", configured_->text(shares_.width));
  }

  std::string advice(const Candidate& best) const {
    const std::string settings = best.way.settings(shares_.width);
    if (is_pre()) return best.is_described ? "pass `vectors: post`" : fmt::format("pass `vectors: post`, {}", settings);
    if (best.way.layout) {
      return fmt::format("pass {}{}", settings, config_.rope == Rope::none ? " in place of `rope: none`" : "");
    }
    if (prepared_.rotation && prepared_.rotation->source == RotationSource::config) {
      return "they look captured before the rotation: pass `vectors: pre`";
    }
    return "pass `rope: none`, or `vectors: pre` if they were captured before the rotation";
  }

  std::string complaint_about_dump(const Candidate& best) const {
    return fmt::format(
        "the vectors contradict the rotation: un-rotated {}, a share of {:.3f} of their energy does not depend on "
        "position, but {:.3f} with {}; {}",
        configured_text(), shares_.dump.configured, best.share(shares_.dump), best.way.text(shares_.width),
        advice(best));
  }

  std::string complaint_about_layers() const {
    std::vector<int> layers;
    const LayerShares* worst = nullptr;
    const auto ratio = [&](const LayerShares& layer) {
      return layer.shares.configured / best_of(layer.shares)->share(layer.shares);
    };
    for (const LayerShares& layer : shares_.layers) {
      if (!is_doubtful(layer.shares, enough_in_layer)) continue;
      layers.push_back(layer.layer);
      if (worst == nullptr || ratio(layer) < ratio(*worst)) worst = &layer;
    }
    if (worst == nullptr) return {};
    const Candidate& best = *best_of(worst->shares);
    return fmt::format(
        "the vectors of {} {} contradict the rotation: un-rotated as configured, a share of {:.3f} of the energy of "
        "layer {} does not depend on position, but {:.3f} with {}; pass the model's config.json as `rope_config`, or "
        "leave {} out with `layers`",
        layers.size() == 1 ? "layer" : "layers", fmt::join(layers, ", "), worst->shares.configured, worst->layer,
        best.share(worst->shares), best.way.text(shares_.width), layers.size() == 1 ? "it" : "them");
  }

  RotationEvidence& evidence_;
  const PreparedRun& prepared_;
  const RunConfig& config_;
  RotationShares shares_;
  std::optional<DescribedWay> configured_;  // of the first layer that has a rotation
  Rotation rotation_;                       // the same
  std::vector<Candidate> candidates_;
};

}  // namespace

std::string DescribedWay::text(std::size_t width) const {
  if (!layout) return "no rotation";
  return fmt::format("theta {}, {}, {}", theta_text(theta), *layout == RotaryLayout::half ? "half" : "interleaved",
                     components_text(components.first, components.dim, width));
}

std::string DescribedWay::settings(std::size_t width) const {
  if (!layout) return "`rope: none`";
  std::string text = fmt::format("`rope_theta: {}`, `rope_layout: {}`", theta_text(theta),
                                 *layout == RotaryLayout::half ? "half" : "interleaved");
  if (components.first != 0) text += fmt::format(", `rope_first: {}`", components.first);
  if (components.first + components.dim != width || components.first != 0) {
    text += fmt::format(", `rope_dim: {}`", components.dim);
  }
  return text;
}

DescribedWay described_way(const RotationWay& way, std::size_t width) {
  if (!way.shape) return {};
  return {way.shape->layout, components_of(way.shape->part, width).value_or(ComponentRange{}), way.theta};
}

std::vector<RotationFile> rotation_sides(HeadSource* source, std::span<const HeadTask> tasks) {
  std::vector<RotationFile> files;
  for (const HeadSide& side : sides_of(tasks)) {
    files.push_back({side.side, side.head, {}, [source, side](const std::function<void(const RowsView&)>& use) {
                       if (source == nullptr) throw Error(ErrorKind::input, "the rows are not here");
                       use(source->rows(side).rows.view());
                       source->release(side);
                     }});
  }
  return files;
}

std::unique_ptr<RotationEvidence> configured_evidence(const PreparedRun& prepared, const RunConfig& config,
                                                      std::vector<RotationFile> files) {
  if (!prepared.rotation || config.rotation_check == RotationCheck::off) return nullptr;
  // An inferred rotation is the one that fits the vectors best.
  if (prepared.rotation->source == RotationSource::inferred) return nullptr;
  const RotationOfLayer described = [&rotation = *prepared.rotation](int layer, std::size_t width) {
    return std::optional(rotation.layer(layer, width).rotation);
  };
  if (config.analysis.vectors == Vectors::post) {
    return std::make_unique<RotationEvidence>(std::move(files), described, RotationOfLayer());
  }
  const auto as_captured = [](int, std::size_t) { return std::optional(Rotation{}); };
  return std::make_unique<RotationEvidence>(std::move(files), as_captured, described);
}

std::string rotation_complaint(RotationEvidence& evidence, const PreparedRun& prepared, const RunConfig& config) {
  if (evidence.empty()) return {};
  return Check(evidence, prepared, config).complaint();
}

std::optional<RotationShares> checked_shares(RotationEvidence& evidence, const PreparedRun& prepared,
                                             const RunConfig& config, const RunObserver& observer) {
  if (evidence.empty()) return std::nullopt;
  const std::string complaint = rotation_complaint(evidence, prepared, config);
  if (!complaint.empty() && config.rotation_check == RotationCheck::error) throw Error(ErrorKind::usage, complaint);
  if (!complaint.empty() && observer.warning) observer.warning(complaint);
  return evidence.shares();
}

}  // namespace attention_plasticity
