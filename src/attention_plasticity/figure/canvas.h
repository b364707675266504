#pragma once

namespace attention_plasticity {

enum class ImageFormat { png, svg, pdf };

/// Black on white for print, or light on dark.
enum class FigureStyle { paper, screen };

/// Size, format and style of an image.
struct Canvas {
  double width = 7;  ///< inches
  double height = 4.5;
  int dpi = 200;  ///< pixels per inch; used for PNG only
  ImageFormat format = ImageFormat::png;
  FigureStyle style = FigureStyle::paper;
};

}  // namespace attention_plasticity
