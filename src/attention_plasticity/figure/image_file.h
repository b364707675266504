#pragma once

#include <filesystem>
#include <string>

#include "attention_plasticity/figure/canvas.h"

namespace attention_plasticity {

/// The format that the ending of a file's name stands for, in any case. Throws Error(usage) for others.
ImageFormat format_of(const std::filesystem::path& file);

/// Throws Error(output) unless the bytes are a whole file of the format, as far as beginning and end tell.
void check_image(const std::string& image, ImageFormat format);

/// A PDF whose date of creation is that of 1 January 2000: otherwise no two drawings of one figure would be the same
/// bytes. The length stays, and with it the places that the file's table of objects names.
std::string without_date(std::string pdf);

}  // namespace attention_plasticity
