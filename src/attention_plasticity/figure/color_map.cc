#include "attention_plasticity/figure/color_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>

#include "attention_plasticity/base/nearest_name.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

// 33 of the 256 colours of each map, at equal steps. Linear interpolation between them is off by at most 3 of 255;
// where the red of cividis begins, by at most 6.
using Anchors = std::array<std::uint32_t, 33>;

// Viridis, magma, inferno and plasma are by N. Smith, S. van der Walt and E. Firing, cividis by J. Nunez, C. Anderton
// and R. Renslow; all are in the public domain (CC0).
constexpr Anchors viridis_anchors{
    0x440154, 0x470d60, 0x48186a, 0x482374, 0x472d7b, 0x453681, 0x424086, 0x3f4989, 0x3b528b, 0x375a8d, 0x33638d,
    0x2f6a8e, 0x2c728e, 0x297a8e, 0x26818e, 0x23898e, 0x21908c, 0x1f988b, 0x1f9f88, 0x21a685, 0x28ae80, 0x31b57b,
    0x3ebc74, 0x4cc26c, 0x5dc963, 0x6ece58, 0x82d34c, 0x96d83f, 0xabdc32, 0xc0df24, 0xd5e21a, 0xeae51a, 0xfde725};
constexpr Anchors magma_anchors{
    0x000004, 0x030311, 0x0a0822, 0x130d33, 0x1d1146, 0x28115a, 0x36106a, 0x430f76, 0x50127c, 0x5d177f, 0x691c81,
    0x762181, 0x822681, 0x8f2a81, 0x9c2e7f, 0xa9327d, 0xb63779, 0xc33b75, 0xcf4170, 0xdb486a, 0xe65163, 0xee5c5e,
    0xf5695c, 0xf9785d, 0xfb8761, 0xfd9668, 0xfea571, 0xfeb47b, 0xfec387, 0xfed194, 0xfde0a2, 0xfceeb0, 0xfcfdbf};
constexpr Anchors inferno_anchors{
    0x000004, 0x040312, 0x0b0724, 0x150b37, 0x210c4a, 0x2e0a5a, 0x3c0965, 0x4a0c6b, 0x57106d, 0x63146e, 0x70196e,
    0x7d1e6d, 0x89226a, 0x962766, 0xa32b61, 0xaf315c, 0xbb3755, 0xc63e4d, 0xd14644, 0xdb4f3b, 0xe35932, 0xeb6528,
    0xf1711e, 0xf67f14, 0xf98d0a, 0xfb9c06, 0xfcab0f, 0xfbba1f, 0xf9ca32, 0xf5d949, 0xf2e865, 0xf3f586, 0xfcffa4};
constexpr Anchors plasma_anchors{
    0x0d0887, 0x220690, 0x310596, 0x3f049c, 0x4c02a1, 0x5901a5, 0x6600a7, 0x7201a8, 0x7e03a8, 0x8909a6, 0x9511a2,
    0x9f1a9c, 0xa92396, 0xb22c8e, 0xbb3587, 0xc33e80, 0xcb4778, 0xd25071, 0xd9596a, 0xe06263, 0xe66c5c, 0xeb7555,
    0xf07f4f, 0xf48a48, 0xf89441, 0xfb9f3a, 0xfdab33, 0xfeb72d, 0xfdc328, 0xfcd025, 0xf9dd25, 0xf5eb27, 0xf0f921};
constexpr Anchors cividis_anchors{
    0x00224e, 0x00285b, 0x002e6a, 0x043371, 0x1a386f, 0x273e6e, 0x32436d, 0x3b496c, 0x434e6c, 0x4b546c, 0x52596d,
    0x5a5f6e, 0x61656f, 0x686a71, 0x6f7073, 0x757676, 0x7c7b78, 0x848179, 0x8b8778, 0x938d78, 0x9b9376, 0xa39a75,
    0xaba072, 0xb3a670, 0xbbad6c, 0xc3b469, 0xccba64, 0xd4c15f, 0xddc958, 0xe6d051, 0xefd748, 0xf8df3c, 0xfee838};
constexpr std::array<std::uint32_t, 2> gray_anchors{0x000000, 0xffffff};

// For differences: both ends are equally dark, and the middle is nearly white.
constexpr std::array<std::uint32_t, 7> blue_red_anchors{0x1d4e9c, 0x5b8fcb, 0xb3cfe9, 0xf4f4f2,
                                                        0xf1c4ad, 0xd97c5c, 0xa52a24};

constexpr std::array<std::string_view, 14> names{"viridis",   "viridis_r", "magma",    "magma_r",   "inferno",
                                                 "inferno_r", "plasma",    "plasma_r", "cividis",   "cividis_r",
                                                 "gray",      "gray_r",    "blue_red", "blue_red_r"};

// In the order of `names`, without the reversed maps.
constexpr std::array<std::span<const std::uint32_t>, 7> anchors_of_maps{
    viridis_anchors, magma_anchors, inferno_anchors, plasma_anchors, cividis_anchors, gray_anchors, blue_red_anchors};

std::uint32_t mixed(std::uint32_t a, std::uint32_t b, double share, unsigned shift) {
  const double from = (a >> shift) & 0xffU;
  const double to = (b >> shift) & 0xffU;
  return static_cast<std::uint32_t>(std::lround(from + (to - from) * share)) << shift;
}

}  // namespace

std::span<const std::string_view> color_map_names() { return names; }

ColorMap::ColorMap(std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    const std::optional<std::string> meant = nearest_name(name, names);
    throw Error(ErrorKind::usage, fmt::format("{} is not a colour map; {}", quoted_text(name),
                                              meant ? fmt::format("did you mean {}?", *meant)
                                                    : fmt::format("there are {}", fmt::join(names, ", "))));
  }
  const auto index = static_cast<std::size_t>(found - names.begin());
  const std::span<const std::uint32_t> of_map = anchors_of_maps[index / 2];
  colors_.assign(of_map.begin(), of_map.end());
  if (index % 2 == 1) std::ranges::reverse(colors_);
}

std::uint32_t ColorMap::at(double share) const {
  const double last = static_cast<double>(colors_.size() - 1);
  const double place = std::clamp(share, 0.0, 1.0) * last;
  const auto below = static_cast<std::size_t>(std::min(std::floor(place), last - 1));
  const double within = place - static_cast<double>(below);
  const std::uint32_t a = colors_[below];
  const std::uint32_t b = colors_[below + 1];
  return mixed(a, b, within, 16U) | mixed(a, b, within, 8U) | mixed(a, b, within, 0U);
}

}  // namespace attention_plasticity
