#include "attention_plasticity/base/descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <set>
#include <string>
#include <utility>

#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

TEST(Descriptor, IsNeverThatOfAStandardStream) {
  const TemporaryFolder folder;
  const int kept = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  ::close(STDIN_FILENO);
  {
    const Descriptor file(folder / "a", O_WRONLY | O_CREAT, folder / "a");
    EXPECT_GT(file.number(), STDERR_FILENO);
    EXPECT_NE(::fcntl(file.number(), F_GETFD) & FD_CLOEXEC, 0);
    file.write("data");
    EXPECT_EQ(::fcntl(STDIN_FILENO, F_GETFD), -1) << "it stays closed";
  }
  if (kept >= 0) {
    ::dup2(kept, STDIN_FILENO);
    ::close(kept);
  }
  EXPECT_EQ(read_text_file(folder / "a"), "data");
}

TEST(Descriptor, SaysThatTheDiskIsFull) {
  const Descriptor full("/dev/full", O_WRONLY, "table.csv");
  try {
    full.write("new");
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::output);
    EXPECT_EQ(error.file(), "table.csv");
    EXPECT_STREQ(error.what(),
                 "cannot write this file: No space left on device; free some space or choose another folder");
  }
}

TEST(RandomName, IsAnotherEachTime) {
  std::set<std::string> names;
  for (int i = 0; i < 1000; ++i) names.insert(random_name());
  EXPECT_EQ(names.size(), 1000U);
  EXPECT_EQ(names.begin()->size(), 16U);
}

}  // namespace
}  // namespace attention_plasticity
