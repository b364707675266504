#include "attention_plasticity/figure/image_file.h"

#include <gtest/gtest.h>

#include "attention_plasticity/base/refusal_testing.h"

namespace attention_plasticity {
namespace {

bool is_refused(const std::string& image, ImageFormat format) {
  try {
    check_image(image, format);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::output);
    return true;
  }
  return false;
}

TEST(ImageFormat, FollowsTheEnding) {
  EXPECT_EQ(format_of("a/b.png"), ImageFormat::png);
  EXPECT_EQ(format_of("b.PDF"), ImageFormat::pdf);
  EXPECT_EQ(format_of("b.x.svg"), ImageFormat::svg);
  EXPECT_EQ(refusal([] { format_of("b.jpg"); }),
            "usage: b.jpg should end in .png, .svg or .pdf: the ending says what to draw");
  EXPECT_TRUE(refusal([] { format_of("png"); }).starts_with("usage: png should end in"));
}

TEST(CheckImage, TakesWholeFilesOnly) {
  EXPECT_FALSE(is_refused("%PDF-1.5\nbody\n%%EOF\n", ImageFormat::pdf));
  EXPECT_FALSE(is_refused("<?xml version?><svg></svg>\n\n", ImageFormat::svg));
  EXPECT_TRUE(is_refused("", ImageFormat::png));
  EXPECT_TRUE(is_refused("%PDF-1.5\nbody\n", ImageFormat::pdf));
  EXPECT_TRUE(is_refused("<?xml version?><svg></svg>", ImageFormat::pdf));
  EXPECT_TRUE(is_refused("\x89PNG\r\n\x1a\ncut short", ImageFormat::png));
}

TEST(WithoutDate, ReplacesTheDateAndKeepsTheLength) {
  const std::string pdf = "<< /Producer (x)\n   /CreationDate (D:20261115133352Z)\n>>\n";
  EXPECT_EQ(without_date(pdf), "<< /Producer (x)\n   /CreationDate (D:20000101000000Z)\n>>\n");
  EXPECT_EQ(without_date("/CreationDate (D:2026"), "/CreationDate (D:2026");
  EXPECT_EQ(without_date("none"), "none");
}

}  // namespace
}  // namespace attention_plasticity
