#include "attention_plasticity/source/read_ahead.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

// Files of given sizes, none of which can be read: what is wrong with a file is left to its reader, so that fetching
// one costs nothing but the call.
class ListedFiles : public DumpFiles {
 public:
  explicit ListedFiles(std::map<fs::path, std::uint64_t> sizes) : sizes_(std::move(sizes)) {}

  std::shared_ptr<const InputFile> open(const fs::path& file) const override {
    const std::scoped_lock lock(mutex_);
    opened_.insert(file);
    throw Error(ErrorKind::input, "is not there", file.string());
  }
  bool exists(const fs::path& file) const override { return sizes_.contains(file); }
  std::string text(const fs::path&) const override { return {}; }
  bool are_remote() const override { return true; }
  std::optional<FileIdentity> listed(const fs::path& file) const override {
    const auto found = sizes_.find(file);
    return found == sizes_.end() ? std::nullopt : std::optional(FileIdentity{0, 0, found->second, 1});
  }

  bool was_fetched(const fs::path& file) const {
    const std::scoped_lock lock(mutex_);
    return opened_.contains(file);
  }

 private:
  std::map<fs::path, std::uint64_t> sizes_;
  mutable std::mutex mutex_;
  mutable std::set<fs::path> opened_;
};

const std::vector<ReadAhead::File> two_tasks{
    {"k0", Side::key}, {"q0", Side::query}, {"k1", Side::key}, {"q1", Side::query}};

// Fails instead of hanging.
template <typename Action>
void expect_to_return(ReadAhead& ahead, std::stop_source& stop, const Action& action) {
  std::future<void> done = std::async(std::launch::async, [&] { action(ahead); });
  const bool has_returned = done.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  EXPECT_TRUE(has_returned);
  stop.request_stop();
}

class ReadAheadRoom : public testing::TestWithParam<bool> {
 protected:
  ReadAhead::Options room_for(std::uint64_t bytes) const {
    return {.most_bytes = bytes, .exceeds_for_readers = GetParam()};
  }
  std::stop_source stop_;
};

TEST_P(ReadAheadRoom, ATaskWhoseFilesDoNotFitTogetherGetsBoth) {
  const ListedFiles files({{"k0", 10}, {"q0", 10}, {"k1", 10}, {"q1", 10}});
  ReadAhead ahead(files, two_tasks, room_for(15), stop_.get_token());
  expect_to_return(ahead, stop_, [](ReadAhead& from) {
    for (const auto& [keys, queries] : {std::pair("k0", "q0"), std::pair("k1", "q1")}) {
      from.wait_for(keys);
      from.wait_for(queries);
      from.release(keys);
      from.release(queries);
    }
  });
  EXPECT_TRUE(files.was_fetched("k0"));
  EXPECT_EQ(files.was_fetched("q0"), GetParam());
}

TEST_P(ReadAheadRoom, WaitersForSeveralTasksDoNotWaitForEachOther) {
  const ListedFiles files({{"k0", 10}, {"q0", 10}, {"k1", 10}, {"q1", 10}});
  ReadAhead ahead(files, two_tasks, room_for(15), stop_.get_token());
  expect_to_return(ahead, stop_, [](ReadAhead& from) {
    // The later task holds its files for ever, as one does that waits for its keys.
    std::jthread later([&] {
      from.wait_for("q1");
      from.wait_for("k1");
    });
    later.join();
    from.wait_for("q0");
    from.wait_for("k0");
  });
}

TEST_P(ReadAheadRoom, AFileThatIsLargerThanAllRoomIsNotWaitedForEither) {
  const ListedFiles files({{"k0", 100}, {"q0", 1}, {"k1", 100}, {"q1", 1}});
  ReadAhead ahead(files, two_tasks, room_for(15), stop_.get_token());
  expect_to_return(ahead, stop_, [](ReadAhead& from) {
    for (const char* file : {"k0", "q0", "k1", "q1"}) from.wait_for(file);
  });
  EXPECT_EQ(files.was_fetched("k0"), GetParam());
}

TEST_P(ReadAheadRoom, WhatNobodyWaitsForStaysWithinIt) {
  const ListedFiles files({{"k0", 10}, {"q0", 10}, {"k1", 10}, {"q1", 10}});
  ReadAhead ahead(files, two_tasks, room_for(25), stop_.get_token());
  expect_to_return(ahead, stop_, [](ReadAhead& from) { from.wait_for("q0"); });
  EXPECT_TRUE(files.was_fetched("q0"));
  EXPECT_FALSE(files.was_fetched("k1"));
}

INSTANTIATE_TEST_SUITE_P(ByFetchingOrLeaving, ReadAheadRoom, testing::Bool());

}  // namespace
}  // namespace attention_plasticity
