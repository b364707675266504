#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace attention_plasticity {

/// viridis, magma, inferno, plasma, cividis, gray and, for differences, blue_red; each followed by its reverse, such as
/// `viridis_r`.
std::span<const std::string_view> color_map_names();

/// A colour (0xRRGGBB) for every share in [0, 1], linear between anchors at equal steps.
class ColorMap {
 public:
  /// Throws Error(usage), with the nearest name, for a name that is not in color_map_names().
  explicit ColorMap(std::string_view name);

  std::span<const std::uint32_t> anchors() const { return colors_; }
  /// Shares outside [0, 1] are clamped.
  std::uint32_t at(double share) const;

 private:
  std::vector<std::uint32_t> colors_;
};

}  // namespace attention_plasticity
