#include "attention_plasticity/figure/gnuplot_script.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace attention_plasticity {
namespace {

TEST(GnuplotText, EscapesAllButHarmlessCharacters) {
  EXPECT_EQ(gnuplot_text("Qwen3-8B (4.5, a/b): c_d"), "\"Qwen3-8B (4.5, a/b): c_d\"");
  EXPECT_EQ(gnuplot_text("it's \"q\""), R"("it\047s \042q\042")");
  EXPECT_EQ(gnuplot_text("'; system('id') #"), R"("\047\073 system(\047id\047) \043")");
  EXPECT_EQ(gnuplot_text("`@{}\\$%^"), R"("\140\100\173\175\134\044\045\136")");
}

TEST(GnuplotText, IsOneLine) {
  EXPECT_EQ(gnuplot_text("a\nb\r\tc\x7f"), R"("a\134nb\134x0d\134x09c\134x7f")");
  EXPECT_EQ(gnuplot_text("a\\\nsystem"), R"("a\134\134nsystem")");
  EXPECT_EQ(gnuplot_text(std::string("a\0b", 3)), R"("a\134x00b")");
}

TEST(GnuplotText, IsUtf8) {
  EXPECT_EQ(gnuplot_text("é—"), "\"é—\"");
  EXPECT_EQ(gnuplot_text("a\xff\xfe"), R"("a\134xff\134xfe")");
}

TEST(GnuplotText, HasNoMarksOfDirectionAndNoControls) {
  EXPECT_EQ(gnuplot_text("gpj.\u202exe"), R"("gpj.\134u202exe")");
  EXPECT_EQ(gnuplot_text("a\u009b31m\u200b"), R"("a\134u009b31m\134u200b")");
}

TEST(GnuplotColor, HasAnAlphaOfZeroWhenOpaque) {
  EXPECT_EQ(gnuplot_color(0x4477aa), "'#4477aa'");
  EXPECT_EQ(gnuplot_color(0x00000f, 0.25), "'#bf00000f'");
}

TEST(GnuplotNumber, ReadsBackToTheSame) {
  EXPECT_EQ(gnuplot_number(0.1), "0.1");
  EXPECT_EQ(gnuplot_number(std::numeric_limits<double>::quiet_NaN()), "NaN");
}

TEST(CanvasCommands, SizeTheTerminalInInches) {
  const auto has = [](const Canvas& canvas, const char* text) {
    return canvas_commands(canvas).find(text) != std::string::npos;
  };
  EXPECT_TRUE(
      has({6, 4, 200, ImageFormat::png, FigureStyle::paper}, "set terminal pngcairo size 1200,800 noenhanced "));
  EXPECT_TRUE(has({6, 4, 200, ImageFormat::svg, FigureStyle::paper}, "set terminal svg size 576,384 noenhanced "));
  EXPECT_TRUE(
      has({6, 4.5, 200, ImageFormat::pdf, FigureStyle::paper}, "set terminal pdfcairo size 6in,4.5in noenhanced "));
  EXPECT_TRUE(has({6, 4, 200, ImageFormat::png, FigureStyle::paper}, "background rgb '#ffffff'"));
  EXPECT_TRUE(has({6, 4, 200, ImageFormat::png, FigureStyle::screen}, "background rgb '#16191f'"));
}

TEST(TitleCommand, ShrinksLongTitles) {
  const Canvas canvas{6, 4, 200, ImageFormat::png, FigureStyle::paper};
  EXPECT_EQ(title_command("short", canvas), "set title \"short\" font 'DejaVu Sans,10.5'\n");
  // 68 letters, each 0.6 of the font size wide, fit into 85 % of 432 points at 9 points.
  EXPECT_EQ(title_command(std::string(68, 'x'), canvas),
            "set title \"" + std::string(68, 'x') + "\" font 'DejaVu Sans,9'\n");
  EXPECT_TRUE(title_command(std::string(999, 'x'), canvas).ends_with(",5'\n"));
}

std::string labels_of(const std::vector<Tick>& ticks) {
  std::string labels;
  for (const Tick& tick : ticks) labels += tick.label + " ";
  return labels;
}

TEST(TitleCommand, CountsLettersThatAreSpelledOut) {
  const Canvas canvas;
  const auto font = [&](const std::string& title) {
    const std::string command = title_command(title, canvas);
    return command.substr(command.rfind(" font "));
  };
  std::string marks;
  std::string spelled;
  for (int i = 0; i < 40; ++i) {
    marks += "\u202e";
    spelled += "\\u202e";
  }
  EXPECT_EQ(font(marks), font(spelled));
}

TEST(ValueTicks, AreRoundAndFew) {
  EXPECT_EQ(labels_of(value_ticks(0, 1)), "0 0.2 0.4 0.6 0.8 1 ");
  EXPECT_EQ(labels_of(value_ticks(0.746, 0.855)), "0.76 0.78 0.8 0.82 0.84 ");
  EXPECT_EQ(labels_of(value_ticks(-1.5, 2.5)), "-1.5 -1 -0.5 0 0.5 1 1.5 2 2.5 ");
  EXPECT_EQ(labels_of(value_ticks(990, 1117)), "1000 1020 1040 1060 1080 1100 ");
  EXPECT_EQ(labels_of(value_ticks(1e-7, 9e-7)), "1e-07 2e-07 3e-07 4e-07 5e-07 6e-07 7e-07 8e-07 9e-07 ");
  EXPECT_DOUBLE_EQ(value_ticks(0, 0.3).back().position, 0.3);
  EXPECT_TRUE(value_ticks(-1e308, 1e308).empty());
  EXPECT_TRUE(value_ticks(1, 1 + 1e-15).empty());
}

TEST(ValueTicks, KeepTheLeastStep) {
  EXPECT_EQ(labels_of(value_ticks(0, 3, 1)), "0 1 2 3 ");
  EXPECT_EQ(labels_of(value_ticks(0, 35, 1)), "0 5 10 15 20 25 30 35 ");
}

TEST(PaletteCommands, HoldEveryAnchorTheRangeAndTheLabel) {
  const std::string script = palette_commands(ColorMap("gray"), 0.25, 1, "it's", {});
  EXPECT_TRUE(script.starts_with("set palette defined (0 '#000000', 1 '#ffffff')\nset cbrange [0.25:1]\nset cbtics "));
  EXPECT_NE(script.find("set cblabel \"it\\047s\" "), std::string::npos);
}

TEST(TickCommand, PutsLabelsAtPositions) {
  const std::array ticks{Tick{0, "0"}, Tick{1.5, "1.5k"}};
  EXPECT_EQ(tick_command("x", ticks), "set xtics (\"0\" 0, \"1.5k\" 1.5)\n");
}

}  // namespace
}  // namespace attention_plasticity
