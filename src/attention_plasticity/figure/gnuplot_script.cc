#include "attention_plasticity/figure/gnuplot_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attention_plasticity/base/printable.h"

namespace attention_plasticity {
namespace {

constexpr const char* font = "DejaVu Sans";
constexpr double title_points = 10.5;
constexpr double caption_points = 7.5;
constexpr double smallest_points = 5;
constexpr double points_per_inch = 72;
constexpr double css_units_per_inch = 96;

constexpr Theme paper{0xffffff, 0x000000, 0xd9d9d9, 0x4477aa, 0xd62728, 0x2ca02c,
                      0x7f7f7f, 0xd62728, 0xe4e4e4, 0xee7733, 0x6b6b6b};
constexpr Theme screen{0x16191f, 0xe8e8e8, 0x3a404a, 0x7fb2e5, 0xff5c5c, 0x5fd068,
                       0xa0a0a0, 0xff7043, 0x2b3038, 0xffaa44, 0xa8adb6};

// In SVG the font size is in units of the image: there, fontscale would change the letters but not their places.
std::string font_of(const Canvas& canvas, double points) {
  const double scale = canvas.format == ImageFormat::svg ? css_units_per_inch / points_per_inch : 1;
  return fmt::format("'{},{:.4g}'", font, points * scale);
}

// The largest font, up to `points`, in which a line takes at most the share `usable` of the canvas.
std::string fitting_font(std::string_view line, const Canvas& canvas, double usable, double points) {
  const std::size_t letters = shown_width(printable_text(line));
  const double fitting =
      usable * canvas.width * points_per_inch / (letter_width * static_cast<double>(std::max<std::size_t>(letters, 1)));
  return font_of(canvas, std::clamp(fitting, smallest_points, points));
}

// The space below the graph. In inches, since the lines that gnuplot counts otherwise differ between formats.
std::string bottom_margin(double inches, const Canvas& canvas) {
  constexpr double most = 0.6;  // of the canvas
  return fmt::format("set bmargin at screen {:.4g}\n", std::min(inches / canvas.height, most));
}

std::string terminal_command(const Canvas& canvas) {
  const std::string background = gnuplot_color(theme_of(canvas.style).background);
  const auto common = [&](const char* name, const std::string& size, double font_scale, double line_scale) {
    return fmt::format(
        "set terminal {} size {} noenhanced font {} fontscale {:.4g} linewidth {:.4g} background rgb {}\n", name, size,
        font_of(canvas, font_points), font_scale, line_scale, background);
  };
  const auto size = [&](double units) {
    return fmt::format("{:.0f},{:.0f}", canvas.width * units, canvas.height * units);
  };
  // Measured in the output of gnuplot 5.4: cairo takes a font point as 1/72 inch although an inch has 96 units, and a
  // line of width 1 is half a point in PDF.
  switch (canvas.format) {
    case ImageFormat::png:
      return common("pngcairo", size(canvas.dpi), canvas.dpi / css_units_per_inch, canvas.dpi / points_per_inch);
    case ImageFormat::svg:
      return common("svg", size(css_units_per_inch), 1, css_units_per_inch / points_per_inch);
    case ImageFormat::pdf:
      return common("pdfcairo", fmt::format("{}in,{}in", canvas.width, canvas.height),
                    points_per_inch / css_units_per_inch, 2);
  }
  return {};
}

// Whether a character stands for itself everywhere in a gnuplot string.
bool is_harmless(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view(" .,:-_()/").find(c) != std::string_view::npos;
}

}  // namespace

const Theme& theme_of(FigureStyle style) { return style == FigureStyle::paper ? paper : screen; }

std::string gnuplot_text(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : printable_text(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 || is_harmless(c)) {
      quoted += c;
    } else {
      quoted += fmt::format("\\{:03o}", byte);
    }
  }
  return quoted + '"';
}

std::string gnuplot_color(std::uint32_t color, double opacity) {
  if (opacity >= 1) return fmt::format("'#{:06x}'", color);
  return fmt::format("'#{:02x}{:06x}'", std::lround(255 * (1 - opacity)), color);
}

std::string gnuplot_number(double value) { return std::isnan(value) ? "NaN" : fmt::format("{}", value); }

std::string canvas_commands(const Canvas& canvas) {
  const Theme& theme = theme_of(canvas.style);
  const std::string text = gnuplot_color(theme.text);
  std::string script = "set encoding utf8\n" + terminal_command(canvas);
  // Everything that no command colours, such as the frame of the colour bar, has the colour of the text.
  script +=
      fmt::format("set linetype 1 linewidth 0.6 linecolor rgb {0}\nset border linewidth 0.6 linecolor rgb {0}\n", text);
  for (const char* axis : {"x", "y", "cb"}) {
    script += fmt::format("set {0}tics out nomirror scale 0.5 textcolor rgb {1}\nset {0}label textcolor rgb {1}\n",
                          axis, text);
  }
  script += fmt::format("set title textcolor rgb {0}\nset colorbox border 1\nunset key\n", text);
  return script;
}

std::string legend_commands(const Canvas& canvas) {
  constexpr double above_caption = 0.24;  // inches
  return bottom_margin(1.06, canvas) +
         fmt::format(
             "set key textcolor rgb {} samplen 2 horizontal maxrows 1 width -1 at screen 0.5, screen {:.4g} "
             "center bottom\n",
             gnuplot_color(theme_of(canvas.style).text), above_caption / canvas.height);
}

std::string caption_commands(std::string_view caption, const Canvas& canvas) {
  if (caption.empty()) return {};
  constexpr double above_edge = 0.11;  // inches
  constexpr double usable = 0.97;
  return bottom_margin(0.78, canvas) +
         fmt::format("set label 1 {} at screen 0.5, screen {:.4g} center textcolor rgb {} font {}\n",
                     gnuplot_text(caption), above_edge / canvas.height, gnuplot_color(theme_of(canvas.style).faint),
                     fitting_font(caption, canvas, usable, caption_points));
}

std::string title_command(std::string_view title, const Canvas& canvas) {
  // The title is centred above the graph, which is not in the middle of the canvas.
  constexpr double usable = 0.85;
  return fmt::format("set title {} font {}\n", gnuplot_text(title), fitting_font(title, canvas, usable, title_points));
}

std::string heading_command(std::string_view heading, const Canvas& canvas) {
  constexpr double usable = 0.97;
  constexpr double below_edge = 0.2;  // inches
  return fmt::format("set label 2 {} at screen 0.5, screen {:.4g} center textcolor rgb {} font {}\n",
                     gnuplot_text(heading), 1 - below_edge / canvas.height, gnuplot_color(theme_of(canvas.style).text),
                     fitting_font(heading, canvas, usable, title_points));
}

std::string tick_command(std::string_view axis, std::span<const Tick> ticks) {
  std::string script = fmt::format("set {}tics (", axis);
  const char* separator = "";
  for (const Tick& tick : ticks) {
    script += fmt::format("{}{} {}", separator, gnuplot_text(tick.label), gnuplot_number(tick.position));
    separator = ", ";
  }
  return script + ")\n";
}

std::vector<Tick> value_ticks(double low, double high, double least_step) {
  constexpr double most = 8;
  const double power = std::floor(std::log10((high - low) / most));
  double step = 0;
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    step = factor * std::pow(10, power);
    if ((high - low) / step <= most) break;
  }
  step = std::max(step, least_step);
  // Ticks are integer multiples of the step, because sums of steps would drift. Ends too close to tell apart get none.
  constexpr double slack = 1e-9;
  constexpr double farthest = 1e12;
  const double first = std::ceil(low / step - slack);
  const double last = std::floor(high / step + slack);
  std::vector<Tick> ticks;
  const bool can_be_told = std::isfinite(step) && std::abs(first) < farthest && std::abs(last) < farthest;
  if (!can_be_told) return ticks;
  for (auto i = static_cast<std::int64_t>(first); i <= static_cast<std::int64_t>(last); ++i) {
    const double value = static_cast<double>(i) * step;
    ticks.push_back({value, fmt::format("{:.6g}", value)});
  }
  return ticks;
}

std::string palette_commands(const ColorMap& colors, double low, double high, std::string_view label,
                             const Canvas& canvas, double least_step, int panels) {
  constexpr double bar_inches = 0.14;
  constexpr double gap_inches = 0.14;
  std::string script = "set palette defined (";
  const char* separator = "";
  for (std::size_t i = 0; i < colors.anchors().size(); ++i) {
    script += fmt::format("{}{} {}", separator, i, gnuplot_color(colors.anchors()[i]));
    separator = ", ";
  }
  const std::vector<Tick> ticks = value_ticks(low, high, least_step);
  std::size_t letters = 1;
  for (const Tick& tick : ticks) letters = std::max(letters, tick.label.size());
  script += fmt::format(")\nset cbrange [{}:{}]\n", gnuplot_number(low), gnuplot_number(high));
  script += tick_command("cb", ticks);
  script += fmt::format("set cblabel {} offset 0.5\n", gnuplot_text(label));
  script += fmt::format("set colorbox user origin graph {:.4g}, graph 0 size screen {:.4g}, graph 1\n",
                        1 + gap_inches / std::max(1.0, canvas.width - 1.6), bar_inches / canvas.width / panels);
  // By default gnuplot leaves the same space for labels of any width, and its bar grows with the graph.
  if (panels == 1) script += fmt::format("set rmargin {:.3g}\n", static_cast<double>(letters) + 9.5);
  return script;
}

}  // namespace attention_plasticity
