#pragma once

#include <filesystem>
#include <string>

#include "attention_plasticity/figure/canvas.h"

namespace attention_plasticity {

/// The format that belongs to the ending of a file name, in upper or lower case. Throws Error(usage) for other endings.
ImageFormat format_of(const std::filesystem::path& file);

/// Throws Error(output) unless the bytes begin and end like a whole file of the format.
void check_image(const std::string& image, ImageFormat format);

/// The PDF with 1 January 2000 as its date of creation; otherwise two drawings of one figure would never be the same
/// bytes. The length does not change, so that the offsets in the PDF's table of objects stay right.
std::string without_date(std::string pdf);

}  // namespace attention_plasticity
