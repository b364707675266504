#include "attention_plasticity/figure/image_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

struct FormatMarks {
  std::string_view name;
  std::string_view ending;
  std::string_view begin;
  std::string_view end;  // blanks may follow it
};

using namespace std::string_view_literals;

// In the order of ImageFormat.
constexpr std::array formats{
    FormatMarks{"PNG", ".png", "\x89PNG\r\n\x1a\n"sv, "IEND\xae\x42\x60\x82"sv},
    FormatMarks{"SVG", ".svg", "<?xml "sv, "</svg>"sv},
    FormatMarks{"PDF", ".pdf", "%PDF-"sv, "%%EOF"sv},
};

}  // namespace

ImageFormat format_of(const std::filesystem::path& file) {
  const auto found = std::ranges::find(formats, lower_case(file.extension().string()), &FormatMarks::ending);
  if (found != formats.end()) return static_cast<ImageFormat>(found - formats.begin());
  throw Error(ErrorKind::usage, fmt::format("{} should end in .png, .svg or .pdf: the ending says what to draw",
                                            shown_text(file.string())));
}

void check_image(const std::string& image, ImageFormat format) {
  const FormatMarks& marks = formats[static_cast<std::size_t>(format)];
  const std::string_view whole = std::string_view(image).substr(0, image.find_last_not_of(" \r\n") + 1);
  if (whole.starts_with(marks.begin) && whole.ends_with(marks.end)) return;
  throw Error(ErrorKind::output,
              fmt::format("gnuplot ended without an error, but its output ({} bytes) is not a whole {} file",
                          image.size(), marks.name));
}

std::string without_date(std::string pdf) {
  constexpr std::string_view key = "/CreationDate (D:";
  constexpr std::string_view fixed = "20000101000000";
  for (std::size_t at = pdf.find(key); at != std::string::npos; at = pdf.find(key, at + key.size())) {
    const std::size_t digits = at + key.size();
    std::size_t count = 0;
    while (count < fixed.size() && digits + count < pdf.size() && pdf[digits + count] >= '0' &&
           pdf[digits + count] <= '9') {
      ++count;
    }
    if (count == fixed.size()) pdf.replace(digits, fixed.size(), fixed);
  }
  return pdf;
}

}  // namespace attention_plasticity
