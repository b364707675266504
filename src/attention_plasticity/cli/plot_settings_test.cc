#include "attention_plasticity/cli/plot_settings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "attention_plasticity/cli/commands.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/settings/field_page_testing.h"

namespace attention_plasticity {
namespace {

PlotRequest request(const std::vector<std::string>& words) {
  return plot_request(parse_arguments(plot_command(), words));
}

TEST(PlotRequest, HasTheDocumentedDefaults) {
  const PlotRequest plot = request({"plasticity", "--bucket_csv", "a/b.csv"});
  EXPECT_EQ(plot.figure.kind, FigureKind::plasticity);
  EXPECT_EQ(plot.figure.table, "a/b.csv");
  EXPECT_EQ(plot.output, "a/plasticity.png");
  EXPECT_EQ(plot.figure.format, ImageFormat::png);
  EXPECT_EQ(plot.figure.alpha, 0.25);
  EXPECT_EQ(plot.figure.line_width, 0.8);
  EXPECT_EQ(plot.figure.trend_threshold, 1e-4);
  EXPECT_EQ(plot.figure.dpi, 200);
  EXPECT_EQ(plot.figure.style, FigureStyle::paper);
  EXPECT_EQ(plot.figure.curve_colors, CurveColors::none);
  EXPECT_FALSE(plot.figure.bucket_type);
  EXPECT_FALSE(plot.figure.pooled);
  EXPECT_EQ(plot.figure.min_count, 30U);
  EXPECT_TRUE(plot.figure.selection.layers.empty());
  EXPECT_FALSE(request({"heads", "--metrics", "m.csv"}).figure.column);
  EXPECT_EQ(request({"heads", "--metrics", "m.csv"}).output, "heads.png");
}

TEST(PlotRequest, TakesTheResultsAsItsArgument) {
  const PlotRequest plot = request({"distance", "out/run", "--min_count", "0", "--layers", "0-2,7", "--heads", "3"});
  EXPECT_EQ(plot.figure.table, "out/run");
  EXPECT_EQ(plot.figure.min_count, 0U);
  EXPECT_EQ(plot.figure.selection.layers, (std::vector<int>{0, 1, 2, 7}));
  EXPECT_EQ(plot.figure.selection.heads, (std::vector<int>{3}));
  EXPECT_EQ(request({"plasticity", "--results", "out/run"}).figure.table, "out/run");
  EXPECT_EQ(request({"plasticity", "--time_csv", "t.csv", "--pooled"}).figure.table, "t.csv");
  EXPECT_TRUE(request({"plasticity", "--time_csv", "t.csv", "--pooled"}).figure.pooled);
  EXPECT_EQ(request({"plasticity", "r", "--bucket_csv", "null"}).figure.table, "r");
  EXPECT_THROW(request({"plasticity", "r", "--bucket_csv", "b.csv"}), Error);
  EXPECT_THROW(request({"plasticity", "r", "s"}), Error);
  EXPECT_THROW(request({"components", "r", "--min_count", "3"}), Error);
}

TEST(PlotRequest, TakesEveryOption) {
  const PlotRequest lines = request({"plasticity",
                                     "--bucket_csv",
                                     "b.csv",
                                     "--output",
                                     "x.SVG",
                                     "--alpha",
                                     "1",
                                     "--line-width",
                                     "2",
                                     "--bucket_type",
                                     "log",
                                     "--bucket_min_size",
                                     "16",
                                     "--color_trend",
                                     "--trend_threshold",
                                     "1e-6",
                                     "--model_name",
                                     "m",
                                     "--width",
                                     "3.5",
                                     "--height",
                                     "2",
                                     "--dpi",
                                     "300",
                                     "--style",
                                     "screen"});
  EXPECT_EQ(lines.figure.format, ImageFormat::svg);
  EXPECT_EQ(lines.figure.alpha, 1);
  EXPECT_EQ(lines.figure.line_width, 2);
  EXPECT_EQ(lines.figure.bucket_type, BucketType::log);
  EXPECT_EQ(lines.figure.bucket_min_size, 16);
  EXPECT_EQ(lines.figure.curve_colors, CurveColors::trend);
  EXPECT_EQ(lines.figure.trend_threshold, 1e-6);
  EXPECT_EQ(lines.figure.model_name, "m");
  EXPECT_EQ(lines.figure.width, 3.5);
  EXPECT_EQ(lines.figure.height, 2);
  EXPECT_EQ(lines.figure.dpi, 300);
  EXPECT_EQ(lines.figure.style, FigureStyle::screen);
  const PlotRequest map = request(
      {"distance", "--distance_csv", "d", "--agg", "median", "--cmap", "gray_r", "--vmin", "-1", "--vmax", "2"});
  EXPECT_EQ(map.figure.agg, Aggregate::median);
  EXPECT_EQ(map.figure.cmap, "gray_r");
  EXPECT_EQ(map.figure.vmin, -1);
  EXPECT_EQ(map.figure.vmax, 2);
  const PlotRequest bars =
      request({"components", "--component_csv", "c", "--limit", "8", "--ylabel", "y", "--title", ""});
  EXPECT_EQ(bars.figure.limit, 8U);
  EXPECT_EQ(bars.figure.ylabel, "y");
  EXPECT_EQ(bars.figure.title, "");
}

TEST(PlotRequest, LastOfARepeatedFlagCountsAndNullUnsets) {
  EXPECT_EQ(request({"heads", "--metrics", "m", "--dpi", "50", "--dpi", "60"}).figure.dpi, 60);
  EXPECT_EQ(request({"heads", "--metrics", "m", "--dpi", "50", "--dpi", "null"}).figure.dpi, 200);
  EXPECT_EQ(request({"plasticity", "--bucket_csv", "b", "--color_by_layer", "--no-color_by_layer"}).figure.curve_colors,
            CurveColors::none);
  // A wrong value is an error even if a later flag overrides it.
  EXPECT_THROW(request({"heads", "--metrics", "m", "--dpi", "many", "--dpi", "60"}), Error);
}

TEST(FiguresPage, HasEveryOptionWithItsDefault) { expect_page_has_every_field("figures.md", plot_fields()); }

TEST(PlotFields, HaveDistinctNamesAndHelp) {
  std::set<std::string_view> names;
  for (const Field& field : plot_fields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_TRUE(field.help.ends_with('.')) << field.name;
    EXPECT_EQ(field.value_name.empty(), field.is_boolean()) << field.name;
  }
}

}  // namespace
}  // namespace attention_plasticity
