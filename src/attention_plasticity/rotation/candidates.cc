#include "attention_plasticity/rotation/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

namespace attention_plasticity {
namespace {

constexpr std::array<double, 5> common_thetas{1e4, 1e5, 5e5, 1e6, 1e7};
// Thetas of published models.
constexpr std::array<double, 10> usual_thetas{1e4, 1e5, 1.5e5, 2.5e5, 5e5, 1e6, 2e6, 5e6, 8e6, 1e7};

constexpr std::array<RotationShape, 8> shapes = [] {
  std::array<RotationShape, 8> all{};
  std::size_t i = 0;
  for (const RotaryLayout layout : {RotaryLayout::half, RotaryLayout::interleaved}) {
    for (const RotatedPart part :
         {RotatedPart::all, RotatedPart::first_half, RotatedPart::first_quarter, RotatedPart::last_half}) {
      all[i++] = {layout, part};
    }
  }
  return all;
}();

std::vector<double> frequencies_of(double theta, std::size_t dim) {
  std::vector<double> frequencies(dim / 2);
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    frequencies[i] = std::pow(theta, -2 * static_cast<double>(i) / static_cast<double>(dim));
  }
  return frequencies;
}

std::size_t last_position(const RowSample& sample) {
  return sample.has_whole_positions() ? static_cast<std::size_t>(sample.positions().back()) : 0;
}

// The energy that is fixed in some samples, as a function of theta.
class FixedByTheta {
 public:
  FixedByTheta(std::span<const RowSample* const> samples, const RotationShape& shape) {
    for (const RowSample* sample : samples) {
      const std::optional<ComponentRange> components = shape.components_in(sample->width());
      if (!components || sample->rows() < 2) continue;
      parts_.push_back({PairedSample(*sample, shape.layout), *components});
      last_ = std::max(last_, last_position(*sample));
    }
  }
  bool empty() const { return parts_.empty(); }

  // Evaluates two points at once, which costs less than one after the other.
  std::pair<double, double> at(double log_theta, double other_log_theta) const {
    std::optional<std::pair<PhaseTables, PhaseTables>> tables;
    std::pair<double, double> fixed{0, 0};
    for (const auto& [paired, components] : parts_) {
      if (!tables || 2 * tables->first.frequencies().size() != components.dim) {
        tables.emplace(PhaseTables(frequencies_of(std::exp(log_theta), components.dim), last_),
                       PhaseTables(frequencies_of(std::exp(other_log_theta), components.dim), last_));
      }
      const auto sums = paired.squared_sums(components.first, tables->first, tables->second);
      fixed.first += paired.sample().fixed(sums.first);
      fixed.second += paired.sample().fixed(sums.second);
    }
    return fixed;
  }

 private:
  struct Part {
    PairedSample paired;
    ComponentRange components;
  };
  std::vector<Part> parts_;
  std::size_t last_ = 0;
};

// The best of `count` points from `begin` on; the first of equals.
double best_point(const FixedByTheta& fixed, double begin, double step, std::size_t count) {
  double best = begin;
  double most = -std::numeric_limits<double>::infinity();
  const auto look = [&](double point, double value) {
    if (value <= most) return;
    most = value;
    best = point;
  };
  for (std::size_t i = 0; i < count; i += 2) {
    const double point = begin + step * static_cast<double>(i);
    const double next = begin + step * static_cast<double>(std::min(i + 1, count - 1));
    const auto [value, next_value] = fixed.at(point, next);
    look(point, value);
    look(next, next_value);
  }
  return best;
}

double as_usual(double theta) {
  for (const double usual : usual_thetas) {
    if (std::abs(theta / usual - 1) <= 0.01) return usual;
  }
  return theta;
}

// Of a message. 4 digits: theta is not known better.
std::string theta_text(double theta) {
  const double unit = std::pow(10, std::floor(std::log10(theta)) - 3);
  return fmt::format("{:.0f}", std::round(theta / unit) * unit);
}

std::string_view layout_text(RotaryLayout layout) { return layout == RotaryLayout::half ? "half" : "interleaved"; }

ComponentRange range_of(RotatedPart part, std::size_t width) {
  switch (part) {
    case RotatedPart::all:
      return {0, width};
    case RotatedPart::first_half:
      return {0, width / 2};
    case RotatedPart::first_quarter:
      return {0, width / 4};
    case RotatedPart::last_half:
      return {width / 2, width / 2};
  }
  return {};
}

}  // namespace

std::string components_text(const ComponentRange& components, std::size_t width) {
  const auto [first, dim] = components;
  if (dim == width) return fmt::format("all {} components", width);
  if (first == 0) return fmt::format("{} of {} components", dim, width);
  return fmt::format("components {} to {} of {}", first, first + dim - 1, width);
}

std::optional<ComponentRange> RotationShape::components_in(std::size_t width) const {
  const auto* const part = std::get_if<RotatedPart>(&components);
  const ComponentRange range = part != nullptr ? range_of(*part, width) : std::get<ComponentRange>(components);
  if (range.dim == 0 || range.dim % 2 != 0 || range.first > width || range.dim > width - range.first) {
    return std::nullopt;
  }
  return range;
}

std::span<const RotationShape> common_shapes() { return shapes; }

std::optional<Rotation> RotationCandidate::rotation(std::size_t width) const {
  if (!shape) return Rotation{};
  const std::optional<ComponentRange> range = shape->components_in(width);
  if (!range) return std::nullopt;
  return Rotation{shape->layout, frequencies_of(theta, range->dim), 1, range->first};
}

ComponentRange RotationCandidate::components(std::size_t width) const {
  return shape ? shape->components_in(width).value_or(ComponentRange{}) : ComponentRange{};
}

std::string RotationCandidate::text(std::size_t width) const {
  if (!shape) return "no rotation";
  return fmt::format("theta {}, {}, {}", theta_text(theta), layout_text(shape->layout),
                     components_text(components(width), width));
}

std::string RotationCandidate::settings(std::size_t width) const {
  if (!shape) return "`rope: none`";
  const auto [first, dim] = components(width);
  std::string text = fmt::format("`rope_theta: {}`, `rope_layout: {}`", theta_text(theta), layout_text(shape->layout));
  if (first != 0) text += fmt::format(", `rope_first: {}`", first);
  if (first != 0 || dim != width) text += fmt::format(", `rope_dim: {}`", dim);
  return text;
}

std::span<const RotationCandidate> common_candidates() {
  static const std::vector<RotationCandidate> candidates = [] {
    std::vector<RotationCandidate> all(1);
    all.reserve(1 + common_thetas.size() * shapes.size());
    for (const double theta : common_thetas) {
      for (const RotationShape& shape : shapes) all.push_back({shape, theta});
    }
    return all;
  }();
  return candidates;
}

std::shared_ptr<const CommonCandidateTables::Tables> CommonCandidateTables::tables(std::size_t width,
                                                                                   std::size_t last) {
  // One set of tables serves all files whose last positions lie near each other.
  const std::size_t reach = (std::size_t{1} << std::bit_width(last)) - 1;
  const std::scoped_lock lock(mutex_);
  std::shared_ptr<const Tables>& found = by_width_and_last_[{width, reach}];
  if (!found) {
    auto made = std::make_shared<Tables>();
    made->reserve(common_candidates().size());
    std::map<std::vector<double>, std::shared_ptr<const PhaseTables>> by_frequencies;
    for (const RotationCandidate& candidate : common_candidates()) {
      const std::optional<Rotation> rotation = candidate.rotation(width);
      if (!rotation) {
        made->push_back(nullptr);
        continue;
      }
      std::shared_ptr<const PhaseTables>& shared = by_frequencies[rotation->frequency];
      if (!shared) shared = std::make_shared<PhaseTables>(rotation->frequency, reach);
      made->push_back(shared);
    }
    found = std::move(made);
  }
  return found;
}

std::vector<double> CommonCandidateTables::fixed(const RowSample& sample) {
  const std::shared_ptr<const Tables> tables = this->tables(sample.width(), last_position(sample));
  const auto table = [&](std::size_t candidate) -> const PhaseTables& {
    const auto& found = (*tables)[candidate];
    if (!found) throw std::logic_error("a candidate that fits has no table");
    return *found;
  };
  std::vector<double> fixed(common_candidates().size(), std::numeric_limits<double>::quiet_NaN());
  const PairedSample half(sample, RotaryLayout::half);
  const PairedSample interleaved(sample, RotaryLayout::interleaved);
  // Candidates of one shape stand a fixed number apart, and are measured two at a time.
  fixed[0] = sample.fixed(half.squared_sum(0, table(0)));
  for (std::size_t s = 0; s < shapes.size(); ++s) {
    const std::optional<ComponentRange> components = shapes[s].components_in(sample.width());
    if (!components) continue;
    const PairedSample& paired = shapes[s].layout == RotaryLayout::half ? half : interleaved;
    for (std::size_t t = 0; t < common_thetas.size(); t += 2) {
      const std::size_t one = 1 + t * shapes.size() + s;
      const std::size_t other = t + 1 < common_thetas.size() ? one + shapes.size() : one;
      const auto sums = paired.squared_sums(components->first, table(one), table(other));
      fixed[one] = sample.fixed(sums.first);
      fixed[other] = sample.fixed(sums.second);
    }
  }
  return fixed;
}

double refined_theta(std::span<const RowSample* const> samples, const RotationShape& shape) {
  const FixedByTheta fixed(samples, shape);
  if (fixed.empty()) return 0;
  const double least = std::log(1e3);
  double step = 0.08;
  const auto steps = static_cast<std::size_t>((std::log(1e8) - least) / step);
  const double most = least + step * static_cast<double>(steps);
  double best = best_point(fixed, least, step, steps + 1);
  constexpr int rounds = 3;
  constexpr std::size_t points = 33;
  for (int round = 0; round < rounds; ++round) {
    const double begin = std::max(best - step, least);
    step = (std::min(best + step, most) - begin) / static_cast<double>(points - 1);
    best = best_point(fixed, begin, step, points);
  }
  return as_usual(std::exp(best));
}

}  // namespace attention_plasticity
