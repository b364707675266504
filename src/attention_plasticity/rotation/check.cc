#include "attention_plasticity/rotation/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

// Below these shares of the best candidate's share, the configured rotation is doubted.
constexpr double enough_in_dump = 0.95;
constexpr double enough_in_layer = 0.85;

RotationOfLayer as_described(const DumpRotation& rotation) {
  return [rotation](int layer, std::size_t width) { return std::optional(rotation.layer(layer, width).rotation); };
}

// `vectors: pre` is analysed without rotation.
RotationOfLayer as_configured(const DumpRotation& rotation, Vectors vectors) {
  if (vectors == Vectors::post) return as_described(rotation);
  return [](int, std::size_t) { return std::optional(Rotation{}); };
}

// For `vectors: pre`, the rotation that the settings describe; then the refined candidates.
std::vector<RotationOfLayer> further_rotations(const DumpRotation& rotation, Vectors vectors) {
  std::vector<RotationOfLayer> further;
  if (vectors == Vectors::pre) further.push_back(as_described(rotation));
  for (const RotationCandidate& candidate : rotation.refined.value_or(std::vector<RotationCandidate>())) {
    further.push_back(in_every_layer(candidate));
  }
  return further;
}

// The described rotation of the first layer that has one, as a candidate; without a shape if no layer has one. None if
// no layer is known: its heads fail.
template <class Layers>
std::optional<RotationCandidate> described_candidate(const DumpRotation& rotation, const Layers& layers,
                                                     std::size_t width) {
  std::optional<RotationCandidate> described;
  for (const int layer : layers) {
    try {
      const LayerRotation found = rotation.layer(layer, width);
      described.emplace();
      if (found.rotation.dim() == 0) continue;
      const ComponentRange components{found.rotation.first, found.rotation.dim()};
      return RotationCandidate{RotationShape{found.rotation.layout, components}, found.theta};
    } catch (const Error&) {
      continue;
    }
  }
  return described;
}

bool is_common(const RotationCandidate& candidate, std::size_t width) {
  return std::ranges::any_of(common_candidates(), [&](const RotationCandidate& common) {
    return common.shape && common.theta == candidate.theta && common.shape->layout == candidate.shape->layout &&
           common.components(width) == candidate.components(width);
  });
}

// A candidate and the place of its shares.
struct Contestant {
  RotationCandidate candidate;
  std::function<double(const FixedEnergy&)> share;
  bool is_described = false;  // the rotation that the settings describe, of a run with `vectors: pre`
};

class Contest {
 public:
  Contest(const DumpRotation& rotation, Vectors vectors, Rope rope, const RotationShares& shares)
      : rotation_(rotation), vectors_(vectors), rope_(rope), shares_(shares) {
    const std::span<const RotationCandidate> common = common_candidates();
    for (std::size_t i = 0; i < common.size(); ++i) {
      add(common[i], [i](const FixedEnergy& of) { return of.common[i]; });
    }
    std::vector<int> layers;
    layers.reserve(shares.layers.size());
    for (const LayerShares& layer : shares.layers) layers.push_back(layer.layer);
    described_ = described_candidate(rotation, layers, shares.width);
    std::size_t place = 0;
    if (is_pre()) {
      if (described_ && described_->shape) {
        add(*described_, [](const FixedEnergy& of) { return of.further[0]; }, true);
      }
      ++place;
    }
    for (const RotationCandidate& refined : rotation.refined.value_or(std::vector<RotationCandidate>())) {
      add(refined, [place](const FixedEnergy& of) { return of.further[place]; });
      ++place;
    }
  }

  std::string complaint() const {
    if (std::isnan(shares_.dump.configured)) return {};
    if (!is_doubtful(shares_.dump, enough_in_dump)) return complaint_about_layers();
    const Contestant* best = best_of(shares_.dump);
    for (const Contestant& contestant : contestants_) {
      // The rotation that the settings describe already is the simplest advice.
      const bool fits = contestant.share(shares_.dump) >= enough_in_dump * best->share(shares_.dump);
      if (contestant.is_described && fits) best = &contestant;
    }
    return complaint_about_dump(*best);
  }

 private:
  bool is_pre() const { return vectors_ == Vectors::pre; }

  // A candidate that the width of some head does not fit does not compete.
  void add(const RotationCandidate& candidate, std::function<double(const FixedEnergy&)> share,
           bool is_described = false) {
    if (std::isnan(share(shares_.dump))) return;
    contestants_.push_back({candidate, std::move(share), is_described});
  }

  const Contestant* best_of(const FixedEnergy& shares) const {
    const Contestant* best = nullptr;
    for (const Contestant& contestant : contestants_) {
      if (std::isnan(contestant.share(shares))) continue;
      if (best == nullptr || contestant.share(shares) > best->share(shares)) best = &contestant;
    }
    return best;
  }

  bool is_doubtful(const FixedEnergy& shares, double enough) const {
    const Contestant* const best = best_of(shares);
    if (best == nullptr || std::isnan(shares.configured)) return false;
    const double most = best->share(shares);
    return most >= least_decided_share && shares.configured < enough * most;
  }

  std::string configured_text() const {
    if (!described_ || !described_->shape) return "without rotation, as configured";
    if (is_pre()) return "as they are, as `vectors: pre` says";
    return fmt::format("as configured ({})", described_->text(shares_.width));
  }

  std::string advice(const Contestant& best) const {
    const std::string settings = best.candidate.settings(shares_.width);
    if (is_pre()) return best.is_described ? "pass `vectors: post`" : fmt::format("pass `vectors: post`, {}", settings);
    if (best.candidate.shape) {
      return fmt::format("pass {}{}", settings, rope_ == Rope::none ? " in place of `rope: none`" : "");
    }
    if (rotation_.source == RotationSource::config) {
      return "they look captured before the rotation: pass `vectors: pre`";
    }
    return "pass `rope: none`, or `vectors: pre` if they were captured before the rotation";
  }

  std::string complaint_about_dump(const Contestant& best) const {
    return fmt::format(
        "the vectors contradict the rotation: un-rotated {}, a share of {:.3f} of their energy does not depend on "
        "position, but {:.3f} with {}; {}",
        configured_text(), shares_.dump.configured, best.share(shares_.dump), best.candidate.text(shares_.width),
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
    const Contestant& best = *best_of(worst->shares);
    return fmt::format(
        "the vectors of {} {} contradict the rotation: un-rotated as configured, a share of {:.3f} of the energy of "
        "layer {} does not depend on position, but {:.3f} with {}; pass the model's config.json as `rope_config`, or "
        "leave {} out with `layers`",
        layers.size() == 1 ? "layer" : "layers", fmt::join(layers, ", "), worst->shares.configured, worst->layer,
        best.share(worst->shares), best.candidate.text(shares_.width), layers.size() == 1 ? "it" : "them");
  }

  const DumpRotation& rotation_;
  Vectors vectors_;
  Rope rope_;
  const RotationShares& shares_;
  std::optional<RotationCandidate> described_;
  std::vector<Contestant> contestants_;
};

}  // namespace

std::vector<RotationCandidate> refined_candidates(const DumpRotation& rotation, Vectors vectors,
                                                  const std::vector<HeadSide>& judged, const RotationRows& rows) {
  // Without rotation there is no theta.
  if (vectors == Vectors::pre) return {};
  std::vector<int> layers;
  layers.reserve(judged.size());
  for (const HeadSide& head : judged) layers.push_back(head.head.layer);
  std::vector<RowSample> samples;
  std::optional<RotationCandidate> candidate;
  for (const HeadSide& head : heads_for_check(judged)) {
    for_each_readable({head}, rows, [&](const HeadSide&, const RowsView& own) { samples.emplace_back(own); });
    if (samples.empty()) continue;
    // The width of the first vectors decides what is rotated.
    if (!candidate) candidate = described_candidate(rotation, layers, samples.front().width());
    if (!candidate || !candidate->shape) return {};
  }
  if (!candidate || !candidate->shape) return {};
  std::vector<const RowSample*> pointers;
  pointers.reserve(samples.size());
  for (const RowSample& sample : samples) pointers.push_back(&sample);
  candidate->theta = refined_theta(pointers, *candidate->shape);
  if (candidate->theta == 0 || is_common(*candidate, samples.front().width())) return {};
  return {*candidate};
}

RotationChecker::RotationChecker(DumpRotation rotation, Vectors vectors, Rope rope, std::vector<HeadSide> heads)
    : rotation_(std::move(rotation)),
      vectors_(vectors),
      rope_(rope),
      judged_(judged_heads(std::move(heads))),
      meter_(as_configured(rotation_, vectors), further_rotations(rotation_, vectors)) {}

std::optional<FileEvidence> RotationChecker::measure(const HeadSide& head, const RowsView& rows) {
  if (!std::ranges::binary_search(judged_, head) || rows.size() < 2) return std::nullopt;
  return meter_.measure(head.head.layer, rows);
}

RotationVerdict RotationChecker::verdict(RotationEvidence evidence) const {
  std::erase_if(evidence, [&](const auto& entry) { return !std::ranges::binary_search(judged_, entry.first); });
  const std::size_t further = further_rotations(rotation_, vectors_).size();
  std::optional<RotationShares> shares = shares_of(evidence, further);
  if (!shares) return {};
  std::string complaint = Contest(rotation_, vectors_, rope_, *shares).complaint();
  return {std::move(shares), std::move(complaint)};
}

void report_complaint(const RotationVerdict& verdict, RotationCheck check,
                      const std::function<void(const std::string&)>& warn) {
  if (verdict.complaint.empty()) return;
  if (check == RotationCheck::error) throw Error(ErrorKind::usage, verdict.complaint);
  if (warn) warn(verdict.complaint);
}

}  // namespace attention_plasticity
