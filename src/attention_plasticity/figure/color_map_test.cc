#include "attention_plasticity/figure/color_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "attention_plasticity/base/refusal_testing.h"

namespace attention_plasticity {
namespace {

double luminance(std::uint32_t color) {
  return 0.2126 * ((color >> 16) & 0xff) + 0.7152 * ((color >> 8) & 0xff) + 0.0722 * (color & 0xff);
}

TEST(ColorMap, EndsAreThoseOfThePublishedMaps) {
  EXPECT_EQ(ColorMap("viridis").at(0), 0x440154U);
  EXPECT_EQ(ColorMap("viridis").at(1), 0xfde725U);
  EXPECT_EQ(ColorMap("magma").at(1), 0xfcfdbfU);
  EXPECT_EQ(ColorMap("inferno").at(0), 0x000004U);
  EXPECT_EQ(ColorMap("plasma").at(0), 0x0d0887U);
  EXPECT_EQ(ColorMap("cividis").at(1), 0xfee838U);
  EXPECT_EQ(ColorMap("gray").at(0.5), 0x808080U);
  EXPECT_EQ(ColorMap("viridis").at(0.5), 0x21908cU);
}

TEST(ColorMap, ReversedOnesRunBackwards) {
  for (const char* name : {"viridis", "magma", "inferno", "plasma", "cividis", "gray"}) {
    const ColorMap forward(name);
    const ColorMap back(std::string(name) + "_r");
    EXPECT_EQ(forward.at(0.125), back.at(0.875)) << name;
    EXPECT_EQ(forward.at(0), back.at(1)) << name;
  }
}

TEST(ColorMap, GrowsLighterAllTheWay) {
  for (const std::string_view name : color_map_names()) {
    if (name.ends_with("_r") || name == "blue_red") continue;
    const ColorMap map(name);
    EXPECT_TRUE(std::ranges::is_sorted(map.anchors(), {}, luminance)) << name;
  }
}

TEST(ColorMap, OfDifferencesIsLightestInTheMiddle) {
  const ColorMap map("blue_red");
  const auto colors = map.anchors();
  const auto middle = colors.size() / 2;
  EXPECT_TRUE(std::ranges::is_sorted(colors.first(middle + 1), {}, luminance));
  EXPECT_TRUE(std::ranges::is_sorted(colors.subspan(middle), std::ranges::greater{}, luminance));
}

TEST(ColorMap, SharesBeyondTheEndsAreClamped) {
  EXPECT_EQ(ColorMap("magma").at(-1), ColorMap("magma").at(0));
  EXPECT_EQ(ColorMap("magma").at(7), ColorMap("magma").at(1));
}

TEST(ColorMap, UnknownNamesAreRefusedWithTheNearest) {
  EXPECT_EQ(refusal([] { ColorMap map("virids"); }), "usage: 'virids' is not a colour map; did you mean viridis?");
  EXPECT_TRUE(
      refusal([] { ColorMap map("jet"); }).starts_with("usage: 'jet' is not a colour map; there are viridis, "));
}

}  // namespace
}  // namespace attention_plasticity
