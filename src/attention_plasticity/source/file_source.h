#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "attention_plasticity/hub/downloads.h"
#include "attention_plasticity/options/config.h"
#include "attention_plasticity/source/head_source.h"
#include "attention_plasticity/source/hub_dump.h"
#include "attention_plasticity/source/read_ahead.h"

namespace attention_plasticity {

/// The heads of a dump in a folder or in an object store. Files of a store are fetched ahead of their readers.
class FileSource : public HeadSource {
 public:
  FileSource(DumpLayout layout, const RunConfig& config);
  ~FileSource() override;

  /// Fills in the sizes of a task whose files are there, before any head is read, and notes which files these are:
  /// other ones, or changed ones, fail their heads later. `before`, if not null, is another task that was prepared;
  /// keys that it shares are not looked at again.
  void prepare(HeadTask& task, const HeadTask* before = nullptr);
  /// Sets the file that a side must have.
  void expect_file(const HeadSide& side, const FileIdentity& identity) { identities_[key_of(side)] = identity; }

  void expect(const std::vector<HeadSide>& sides, const RunObserver& told, const std::stop_token& stop) override;
  bool is_awaited() const override { return ahead_ != nullptr; }
  void wait_for(HeadTask& task) override;
  SourceRows rows(const HeadSide& side) override;
  SourceDocuments documents(const HeadSide& side) override;
  HeadFileSize size(const HeadSide& side) override;
  std::uint64_t own_bytes() const override;
  void release(const HeadSide& side) override;
  void finish(const HeadTask& task) override { release(queries_of(task.head)); }
  void end() override { ahead_.reset(); }
  std::string file(const HeadSide& side) const override { return path(side).string(); }
  std::vector<RecordedFile> files(std::span<const HeadTask> tasks) const override;
  double largest_position(const std::stop_token& stop) override;

 protected:
  const DumpLayout& layout() const { return layout_; }
  /// Waits until the file of a side is there.
  virtual void wait_for_file(const HeadSide& /*side*/) {}
  /// Fills in the sizes of a task by the footers of its files.
  void measure(HeadTask& task) const;
  /// Records a file that is there; none if it is not.
  virtual std::optional<RecordedFile> record(const HeadSide& side) const;

 private:
  using Key = std::pair<Side, HeadNumber>;
  static Key key_of(const HeadSide& side) { return {side.side, side.head}; }
  std::filesystem::path path(const HeadSide& side) const { return layout_.file(side.side, side.head); }
  std::optional<HeadFooter> footer(const HeadSide& side) const;
  std::optional<FileIdentity> listed(const HeadSide& side) const;
  ReadOptions read_options() const;

  DumpLayout layout_;
  bool drops_non_finite_;
  std::size_t max_vector_width_;
  std::optional<std::size_t> max_rows_;  // kept of a file
  std::optional<std::uint64_t> memory_limit_;
  std::map<Key, FileIdentity> identities_;  // written before heads are read
  std::unique_ptr<ReadAhead> ahead_;        // null while nothing is fetched ahead
};

/// The heads of a dump on the Hub. Files that are not in the cache are downloaded while heads are measured.
class HubSource : public FileSource {
 public:
  /// `dump` must outlive it.
  HubSource(HubDump& dump, const RunConfig& config);
  ~HubSource() override;

  void expect(const std::vector<HeadSide>& sides, const RunObserver& told, const std::stop_token& stop) override;
  bool is_awaited() const override { return downloads_ != nullptr; }
  void wait_for(HeadTask& task) override;
  void end() override;
  double largest_position(const std::stop_token& stop) override;

 protected:
  void wait_for_file(const HeadSide& side) override;
  std::optional<RecordedFile> record(const HeadSide& side) const override;

 private:
  HubDump& dump_;
  int workers_;
  std::unique_ptr<Downloads> downloads_;  // null while nothing is missing
  std::set<std::string> downloading_;     // paths in the repository
  std::jthread watcher_;                  // reports their progress
};

}  // namespace attention_plasticity
