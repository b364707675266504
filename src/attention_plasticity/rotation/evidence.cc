#include "attention_plasticity/rotation/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <set>
#include <utility>

#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

constexpr std::size_t heads_of_side = 4;
constexpr std::size_t most_layers_for_theta = 8;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// The first `of_side(layers)` heads of each side in up to 8 layers, spread evenly.
template <class OfSide>
std::vector<HeadSide> heads_for_theta(const std::vector<HeadSide>& judged, const OfSide& of_side) {
  std::vector<int> layers;
  for (const HeadSide& head : judged) {
    if (layers.empty() || layers.back() != head.head.layer) layers.push_back(head.head.layer);
  }
  std::set<int> chosen;
  const std::size_t count = std::min(layers.size(), most_layers_for_theta);
  for (std::size_t i = 0; i < count; ++i) chosen.insert(layers[i * layers.size() / count]);
  std::map<std::pair<int, Side>, std::size_t> seen;
  std::vector<HeadSide> heads;
  for (const HeadSide& head : judged) {
    if (chosen.contains(head.head.layer) && seen[{head.head.layer, head.side}]++ < of_side(count)) {
      heads.push_back(head);
    }
  }
  return heads;
}

double fixed_under_rotation(const RowSample& sample, int layer, const RotationOfLayer& of_layer) {
  if (!of_layer) return nan;
  std::optional<Rotation> rotation;
  try {
    rotation = of_layer(layer, sample.width());
  } catch (const Error&) {
    return nan;  // reported when the head is analysed
  }
  if (!rotation || rotation->first + rotation->dim() > sample.width()) return nan;
  return fixed_under(sample, *rotation);
}

void check(const HeadSide& head, const FileEvidence& evidence, std::size_t further) {
  const bool is_whole = evidence.width > 0 && std::isfinite(evidence.energy) && evidence.energy >= 0 &&
                        evidence.fixed.common.size() == common_candidates().size() &&
                        evidence.fixed.further.size() == further;
  if (is_whole) return;
  throw Error(ErrorKind::input,
              fmt::format("layer {} {}_head {}: the saved evidence for the rotation is not of this run's candidates; "
                          "measure this head again",
                          head.head.layer, head.side == Side::query ? 'q' : 'k', head.head.head));
}

// Sums over heads, then shares.
struct Sums {
  double energy = 0;
  FixedEnergy fixed;

  void add(const FileEvidence& file) {
    energy += file.energy;
    fixed.configured += file.fixed.configured;
    const auto add_all = [](std::vector<double>& sum, const std::vector<double>& values) {
      sum.resize(values.size());
      for (std::size_t i = 0; i < values.size(); ++i) sum[i] += values[i];
    };
    add_all(fixed.common, file.fixed.common);
    add_all(fixed.further, file.fixed.further);
  }

  FixedEnergy shares() const {
    // Vectors that are all zero say nothing.
    const double all = energy > 0 ? energy : nan;
    FixedEnergy shares = fixed;
    shares.configured /= all;
    for (double& share : shares.common) share /= all;
    for (double& share : shares.further) share /= all;
    return shares;
  }
};

}  // namespace

std::vector<HeadSide> judged_heads(std::vector<HeadSide> heads) {
  std::ranges::sort(heads);
  heads.erase(std::unique(heads.begin(), heads.end()), heads.end());
  std::map<std::pair<int, Side>, std::size_t> seen;
  std::erase_if(heads, [&](const HeadSide& head) { return seen[{head.head.layer, head.side}]++ >= heads_of_side; });
  return heads;
}

std::vector<HeadSide> heads_for_check(const std::vector<HeadSide>& judged) {
  return heads_for_theta(judged, [](std::size_t) { return std::size_t{1}; });
}

std::vector<HeadSide> heads_for_inference(const std::vector<HeadSide>& judged) {
  return heads_for_theta(judged, [](std::size_t layers) { return most_layers_for_theta / layers; });
}

void for_each_readable(const std::vector<HeadSide>& heads, const RotationRows& rows,
                       const std::function<void(const HeadSide&, const RowsView&)>& use) {
  for (const HeadSide& head : heads) {
    try {
      rows(head, [&](const RowsView& own) {
        if (own.size() >= 2) use(head, own);
      });
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;
      continue;  // reported when the head is read
    } catch (const std::bad_alloc&) {
      continue;  // as is a head that does not fit into the memory of the run
    }
  }
}

RotationOfLayer in_every_layer(const RotationCandidate& candidate) {
  return [candidate](int, std::size_t width) { return candidate.rotation(width); };
}

EvidenceMeter::EvidenceMeter(RotationOfLayer configured, std::vector<RotationOfLayer> further)
    : configured_(std::move(configured)), further_(std::move(further)) {}

FileEvidence EvidenceMeter::measure(int layer, const RowsView& rows) { return measure(layer, RowSample(rows)); }

FileEvidence EvidenceMeter::measure(int layer, const RowSample& sample) {
  FileEvidence evidence{sample.width(), sample.energy(), {tables_.fixed(sample), 0, {}}};
  evidence.fixed.configured = fixed_under_rotation(sample, layer, configured_);
  evidence.fixed.further.reserve(further_.size());
  for (const RotationOfLayer& rotation : further_) {
    evidence.fixed.further.push_back(fixed_under_rotation(sample, layer, rotation));
  }
  return evidence;
}

std::optional<RotationShares> shares_of(const RotationEvidence& evidence, std::size_t further) {
  if (evidence.empty()) return std::nullopt;
  RotationShares all;
  all.width = evidence.begin()->second.width;
  Sums dump;
  std::map<int, Sums> layers;
  for (const auto& [head, file] : evidence) {
    check(head, file, further);
    layers[head.head.layer].add(file);
    dump.add(file);
  }
  all.dump = dump.shares();
  all.layers.reserve(layers.size());
  for (const auto& [layer, sums] : layers) all.layers.push_back({layer, sums.shares()});
  return all;
}

}  // namespace attention_plasticity
