#include "attention_plasticity/cli/fetching.h"

#include <gtest/gtest.h>

namespace attention_plasticity {
namespace {

constexpr std::uint64_t mebi = std::uint64_t{1} << 20U;

TEST(DownloadFigures, TellFilesBytesRateAndTimeLeft) {
  EXPECT_EQ(download_figures({3, 80, 20 * mebi, 100 * mebi, 0}, 4.0),
            "3/80 files, 20.0 MiB of 100.0 MiB, 5.0 MiB/s, 0:16 left");
}

TEST(DownloadFigures, CountNoRateForWhatWasThere) {
  EXPECT_EQ(download_figures({3, 80, 20 * mebi, 100 * mebi, 12 * mebi}, 4.0),
            "3/80 files, 20.0 MiB of 100.0 MiB, 2.0 MiB/s, 0:40 left");
  EXPECT_EQ(download_figures({3, 80, 20 * mebi, 100 * mebi, 20 * mebi}, 4.0), "3/80 files, 20.0 MiB of 100.0 MiB");
}

TEST(DownloadFigures, KnowNoRateBeforeAnythingArrived) {
  EXPECT_EQ(download_figures({0, 2, 0, mebi, 0}, 0.0), "0/2 files, 0.0 KiB of 1.0 MiB");
}

}  // namespace
}  // namespace attention_plasticity
