#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/figure/canvas.h"
#include "attention_plasticity/figure/color_map.h"

// The pieces of a gnuplot script. Text from users enters a script only through gnuplot_text. Paths never enter it:
// gnuplot reads the script from standard input and writes the image to standard output.

namespace attention_plasticity {

/// The colours of a style, 0xRRGGBB.
struct Theme {
  std::uint32_t background;
  std::uint32_t text;
  std::uint32_t grid;
  std::uint32_t head;  ///< lines and bars, unless they are coloured by layer or trend
  std::uint32_t mean;
  std::uint32_t rising;
  std::uint32_t flat;
  std::uint32_t falling;
  std::uint32_t blank;  ///< cells that were not measured
  std::uint32_t mark;   ///< beside layers with a sliding window
  std::uint32_t faint;  ///< captions, and the hatching of cells with little data
};

const Theme& theme_of(FigureStyle style);

/// printable_text of `text` as a gnuplot string in double quotes. Letters, digits and a few signs stand for themselves;
/// everything else is an octal code, so that gnuplot sees no quote, backtick, macro or escape of the text. (Single
/// quotes are not safe: a doubled quote inside them stands for one quote, but gnuplot 5.4 takes it at the beginning for
/// the end of the string.)
std::string gnuplot_text(std::string_view text);

/// '#rrggbb', or '#aarrggbb' with `opacity` below 1 (in gnuplot an alpha of 0 is opaque).
std::string gnuplot_color(std::uint32_t color, double opacity = 1);

/// The shortest digits that read back to the same number; NaN as gnuplot spells it.
std::string gnuplot_number(double value);

/// Sets the terminal of the format, and the style's colours for what every figure has. Text is never read as markup.
std::string canvas_commands(const Canvas& canvas);

/// Shows the legend on a line of its own below the figure, above the caption. Without these commands there is no
/// legend.
std::string legend_commands(const Canvas& canvas);

/// A line at the bottom of the figure, in a font size that fits the canvas. Nothing for an empty caption.
std::string caption_commands(std::string_view caption, const Canvas& canvas);

/// The title, in a font size that fits the canvas.
std::string title_command(std::string_view title, const Canvas& canvas);

/// Font size of text on the axes, in points.
inline constexpr double font_points = 9;
/// Average width of a letter of DejaVu Sans, as a share of the font size.
inline constexpr double letter_width = 0.6;

struct Tick {
  double position = 0;
  std::string label;
};

/// Places ticks on an axis: x, y or cb (the colour bar).
std::string tick_command(std::string_view axis, std::span<const Tick> ticks);

/// Round values from low to high, low < high: at most 9 multiples of 1, 2 or 5 times a power of ten, or of `least_step`
/// where that is larger.
std::vector<Tick> value_ticks(double low, double high, double least_step = 0);

/// A title above several graphs, which have titles of their own.
std::string heading_command(std::string_view heading, const Canvas& canvas);

/// The palette and its colour bar from `low` to `high`, with ticks and a label. `canvas` is one of `panels` of the same
/// size, side by side, whose margins the caller sets.
std::string palette_commands(const ColorMap& colors, double low, double high, std::string_view label,
                             const Canvas& canvas, double least_step = 0, int panels = 1);

}  // namespace attention_plasticity
