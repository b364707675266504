#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/figure/canvas.h"
#include "attention_plasticity/figure/color_map.h"

// The pieces of a gnuplot script. Text of users enters a script through gnuplot_text alone, and paths never do: the
// script comes on standard input and the image leaves on standard output.

namespace attention_plasticity {

/// The colours of a style, 0xRRGGBB.
struct Theme {
  std::uint32_t background;
  std::uint32_t text;
  std::uint32_t grid;
  std::uint32_t head;  ///< lines and bars of no other colour
  std::uint32_t mean;
  std::uint32_t rising;
  std::uint32_t flat;
  std::uint32_t falling;
  std::uint32_t blank;  ///< cells that were not measured
  std::uint32_t mark;
};

const Theme& theme_of(FigureStyle style);

/// `text` as a gnuplot string between double quotes in which letters, digits and a few signs stand for themselves and
/// all else is an octal code: no quote, backtick, macro or escape of the text is there to be seen. (Between single
/// quotes a doubled one stands for itself, except at the beginning, where gnuplot 5.4 takes it for the end.) Line
/// breaks and other control characters become blanks, bytes that are no UTF-8 become question marks.
std::string gnuplot_text(std::string_view text);

/// '#rrggbb', or '#aarrggbb' with `opacity` below 1 (gnuplot's alpha counts the other way round).
std::string gnuplot_color(std::uint32_t color, double opacity = 1);

/// The shortest digits that read back to the same number; NaN as gnuplot spells it.
std::string gnuplot_number(double value);

/// The terminal of the format, and the style's colours for all that every figure has. Text is never taken for markup.
std::string canvas_commands(const Canvas& canvas);

/// A legend in a line of its own below the figure. Without it there is none.
std::string legend_commands(const Canvas& canvas);

/// The title, in letters small enough for the canvas.
std::string title_command(std::string_view title, const Canvas& canvas);

/// Of text on the axes, in points, and the width of a letter as a share of that (DejaVu Sans, on average).
inline constexpr double font_points = 9;
inline constexpr double letter_width = 0.6;

struct Tick {
  double position = 0;
  std::string label;
};

/// `axis` is x, y or cb.
std::string tick_command(std::string_view axis, std::span<const Tick> ticks);

/// Round values from low to high, low < high: at most 9 multiples of 1, 2 or 5 times a power of ten, or of `least_step`
/// where that is larger.
std::vector<Tick> value_ticks(double low, double high, double least_step = 0);

/// The palette and its bar, with ticks and a label: low and high are at its ends.
std::string palette_commands(const ColorMap& colors, double low, double high, std::string_view label,
                             const Canvas& canvas, double least_step = 0);

}  // namespace attention_plasticity
