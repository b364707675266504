#include "attention_plasticity/base/free_memory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "attention_plasticity/base/temporary_folder_testing.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

class FreeMemory : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_.path() / name).parent_path());
    std::ofstream(folder_.path() / name) << text;
  }
  void write_cgroup(const std::string& name, const std::string& most, const std::string& used) const {
    write(name + "/memory.max", most + "\n");
    write(name + "/memory.current", used + "\n");
  }
  std::optional<std::uint64_t> found(const std::vector<std::string>& cgroups) const {
    std::vector<fs::path> paths;
    paths.reserve(cgroups.size());
    for (const std::string& cgroup : cgroups) paths.push_back(folder_.path() / cgroup);
    return free_memory(folder_.path() / "meminfo", paths);
  }
  void write_meminfo() const {
    write("meminfo", "MemTotal:       16000 kB\nMemFree:  10 kB\nMemAvailable:    8000 kB\nHugePages_Total:   0\n");
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(FreeMemory, IsWhatTheSystemSays) {
  write_meminfo();
  EXPECT_EQ(found({}), 8000 * 1024);
  EXPECT_EQ(found({"none"}), 8000 * 1024);
}

TEST_F(FreeMemory, IsUnknownWithoutFiles) { EXPECT_EQ(found({"none"}), std::nullopt); }

TEST_F(FreeMemory, IsThatOfTheTightestCgroup) {
  write_meminfo();
  write_cgroup("a", "5000000", "1000000");
  write_cgroup("a/b", "max", "900000");
  EXPECT_EQ(found({"a", "a/b"}), 4000000);
  write_cgroup("a/b", "2000000", "900000");
  EXPECT_EQ(found({"a", "a/b"}), 1100000);
  write_cgroup("a", "99000000", "1000000");
  write_cgroup("a/b", "98000000", "900000");
  EXPECT_EQ(found({"a", "a/b"}), 8000 * 1024);
}

TEST_F(FreeMemory, HoldsTheCacheOfFiles) {
  write_cgroup("a", "5000000", "4000000");
  write("a/memory.stat", "anon 700000\nfile 3300000\ninactive_file 2000000\nactive_file 1000000\n");
  EXPECT_EQ(found({"a"}), 4000000);
}

TEST_F(FreeMemory, IsZeroBeyondTheLimit) {
  write_cgroup("a", "1000000", "1000001");
  EXPECT_EQ(found({"a"}), 0);
}

TEST(FreeMemoryHere, IsKnown) { EXPECT_GT(free_memory().value_or(0), 0); }

}  // namespace
}  // namespace attention_plasticity
