#include "attention_plasticity/source/file_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <system_error>

#include "attention_plasticity/analysis/run_groups.h"
#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

// A quarter of the memory of a run is for files that are fetched before they are read.
constexpr std::uint64_t fetched_share = 4;
constexpr auto between_looks = std::chrono::milliseconds(100);

// Peak memory of reading and analysing a file: two copies of its columns (the decoder's and ours), and for queries the
// doubles of the statistics.
std::uint64_t estimated_bytes(const HeadFooter& footer, Side side, std::optional<std::size_t> max_rows) {
  const std::uint64_t kept = std::min<std::uint64_t>(footer.rows, max_rows.value_or(footer.rows));
  const std::uint64_t row = footer.width * sizeof(float) + 24;
  const std::uint64_t subsample = kept < footer.rows ? kept * row : 0;
  const std::uint64_t doubles = side == Side::query ? 2 * kept * footer.width * sizeof(double) : 0;
  return 2 * footer.rows * row + subsample + doubles;
}

// The same for a file in a store before its footer is read: as if it held plain floats, with the bytes that were
// fetched beside them.
std::uint64_t estimated_bytes(const FileIdentity& listed, Side side) {
  constexpr std::uint64_t times_of_queries = 8;
  constexpr std::uint64_t times_of_keys = 4;
  return listed.bytes * (side == Side::query ? times_of_queries : times_of_keys);
}

}  // namespace

std::vector<HeadSide> sides_of(std::span<const HeadTask> tasks) {
  std::vector<HeadSide> sides;
  std::set<HeadNumber> keys;
  for (const HeadTask& task : tasks) {
    const HeadSide own_keys = keys_of(task.head);
    if (keys.insert(own_keys.head).second) sides.push_back(own_keys);
    sides.push_back(queries_of(task.head));
  }
  return sides;
}

FileSource::FileSource(DumpLayout layout, const RunConfig& config)
    : layout_(std::move(layout)),
      drops_non_finite_(config.non_finite == NonFinite::drop),
      max_vector_width_(static_cast<std::size_t>(config.max_vector_width)),
      max_rows_(config.analysis.max_tokens_per_head),
      memory_limit_(config.memory_limit) {}

FileSource::~FileSource() = default;

ReadOptions FileSource::read_options() const {
  return {.drop_non_finite = drops_non_finite_, .max_vector_width = max_vector_width_};
}

void FileSource::expect(const std::vector<HeadSide>& sides, const RunObserver& /*told*/, const std::stop_token& stop) {
  ahead_.reset();
  if (!layout_.files().are_remote()) return;
  ReadAhead::Options options{.read = read_options()};
  if (memory_limit_) {
    options.most_bytes = own_bytes();
    options.exceeds_for_readers = false;  // the bounds of a reader include its file
  }
  std::vector<ReadAhead::File> files;
  files.reserve(sides.size());
  for (const HeadSide& side : sides) files.push_back({path(side), side.side});
  ahead_ = std::make_unique<ReadAhead>(layout_.files(), std::move(files), options, stop);
}

void FileSource::wait_for(HeadTask& task) {
  if (ahead_) {
    ahead_->wait_for(path(keys_of(task.head)));
    ahead_->wait_for(path(queries_of(task.head)));
  }
  measure(task);
}

// None for a file that cannot be read, which is reported when the head is read.
std::optional<HeadFooter> FileSource::footer(const HeadSide& side) const {
  try {
    return read_head_footer(layout_.files().open(path(side)), max_vector_width_);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    return std::nullopt;
  }
}

// Footers of a store are read with the rest of the files.
std::optional<FileIdentity> FileSource::listed(const HeadSide& side) const {
  return layout_.files().are_remote() ? layout_.files().listed(path(side)) : std::nullopt;
}

void FileSource::prepare(HeadTask& task, const HeadTask* before) {
  const HeadSide queries = queries_of(task.head);
  const HeadSide keys = keys_of(task.head);
  const bool shares_keys = before != nullptr && keys_of(before->head).head == keys.head;
  if (layout_.files().are_remote()) {
    for (const HeadSide& side : {queries, keys}) {
      const std::optional<FileIdentity> file = listed(side);
      if (!file) continue;
      (side.side == Side::query ? task.query_bytes : task.key_bytes) = estimated_bytes(*file, side.side);
      expect_file(side, *file);
    }
    return;
  }
  if (const std::optional<HeadFooter> found = footer(queries)) {
    task.query_bytes = estimated_bytes(*found, Side::query, max_rows_);
    task.query_rows = found->rows;
    task.width = found->width;
    expect_file(queries, found->identity);
  }
  if (shares_keys) {
    task.key_bytes = before->key_bytes;
    task.key_rows = before->key_rows;
  } else if (const std::optional<HeadFooter> found = footer(keys)) {
    task.key_bytes = estimated_bytes(*found, Side::key, max_rows_);
    task.key_rows = found->rows;
    expect_file(keys, found->identity);
  }
}

void FileSource::measure(HeadTask& task) const {
  if (const std::optional<HeadFooter> queries = footer(queries_of(task.head))) {
    task.query_bytes = estimated_bytes(*queries, Side::query, max_rows_);
    task.width = queries->width;
  }
  if (const std::optional<HeadFooter> keys = footer(keys_of(task.head))) {
    task.key_bytes = estimated_bytes(*keys, Side::key, max_rows_);
  }
}

SourceRows FileSource::rows(const HeadSide& side) {
  wait_for_file(side);
  const fs::path file = path(side);
  // A dangling link was captured: reading it shows what is wrong.
  if (side.side == Side::key && !layout_.files().exists(file)) {
    throw Error(ErrorKind::input,
                fmt::format("key head {} of layer {}, which this head reads, was not captured", side.head.head,
                            side.head.layer),
                file.string());
  }
  ReadOptions options = read_options();
  if (const auto found = identities_.find(key_of(side)); found != identities_.end()) options.expected = found->second;
  HeadFile content = read_head_file(layout_.files().open(file), side.side, options);
  ReadRecord read{.input = std::move(content.input),
                  .rows = content.rows.size(),
                  .dropped_rows = content.dropped_rows,
                  .has_examples = !content.rows.example.empty()};
  return {KeptRows(std::move(content.rows)), std::move(read)};
}

SourceDocuments FileSource::documents(const HeadSide& side) {
  wait_for_file(side);
  const HeadTokens tokens = read_head_tokens(layout_.files().open(path(side)), side.side);
  return {distinct_examples(tokens.example, {}), tokens.position.size()};
}

HeadFileSize FileSource::size(const HeadSide& side) {
  try {
    return measure_head_file(layout_.files().open(path(side)), side.side, read_options());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    return {};
  }
}

std::uint64_t FileSource::own_bytes() const {
  const bool fetches = layout_.files().are_remote() && memory_limit_;
  return fetches ? std::min(ReadAhead::Options().most_bytes, *memory_limit_ / fetched_share) : 0;
}

void FileSource::release(const HeadSide& side) {
  if (ahead_) {
    ahead_->release(path(side));
  } else {
    layout_.files().release(path(side));
  }
}

std::optional<RecordedFile> FileSource::record(const HeadSide& side) const {
  const fs::path file = path(side);
  RecordedFile recorded{file.lexically_relative(layout_.folder).generic_string(), 0, {}, {}};
  if (const auto found = identities_.find(key_of(side)); found != identities_.end()) {
    recorded.bytes = found->second.bytes;
    recorded.modified_ns = found->second.modified;
    return recorded;
  }
  std::error_code unknown;
  if (layout_.files().are_remote()) return std::nullopt;
  recorded.bytes = fs::file_size(file, unknown);
  if (unknown) return std::nullopt;
  const fs::file_time_type time = fs::last_write_time(file, unknown);
  const auto since = std::chrono::file_clock::to_sys(time).time_since_epoch();
  if (!unknown) recorded.modified_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
  return recorded;
}

std::vector<RecordedFile> FileSource::files(std::span<const HeadTask> tasks) const {
  std::map<fs::path, RecordedFile> files;
  for (const HeadSide& side : sides_of(tasks)) {
    if (std::optional<RecordedFile> file = record(side)) files.emplace(path(side), *std::move(file));
  }
  std::vector<RecordedFile> list;
  list.reserve(files.size());
  for (auto& [path, file] : files) list.push_back(std::move(file));
  return list;
}

// Every readable file of the dump counts, whichever heads are selected, so that a part of a run has the rotation of the
// whole.
double FileSource::largest_position(const std::stop_token& stop) {
  double largest = 0;
  for_each_file(layout_.files(), files_of(layout_), HeadPart::tokens, [&](const ReadAhead::File& file) {
    if (stop.stop_requested()) throw_stopped();
    try {
      const HeadTokens rows = read_head_tokens(layout_.files().open(file.path), file.side);
      largest = std::max(largest, std::ranges::max(rows.position));
    } catch (const Error&) {
      return;  // reported when the head is read
    } catch (const std::bad_alloc&) {
      return;  // reported when the head is read
    }
  });
  return largest;
}

HubSource::HubSource(HubDump& dump, const RunConfig& config)
    : FileSource(dump.layout(), config), dump_(dump), workers_(config.download_max_workers) {}

HubSource::~HubSource() = default;

void HubSource::expect(const std::vector<HeadSide>& sides, const RunObserver& told, const std::stop_token& stop) {
  std::vector<RepoFile> missing = dump_.missing(sides, stop);
  const auto is_on_its_way = [&](const RepoFile& file) { return downloading_.contains(file.path); };
  if (std::ranges::all_of(missing, is_on_its_way)) return;
  end();
  for (const RepoFile& file : missing) downloading_.insert(file.path);
  told.note("fetching " + described_files(dump_.snapshot(), missing));
  downloads_ = std::make_unique<Downloads>(dump_.snapshot(), std::move(missing), workers_,
                                           DownloadObserver{{}, told.note}, stop);
  watcher_ = std::jthread([&downloads = *downloads_, look = told.downloading](const std::stop_token& done) {
    while (!done.stop_requested()) {
      const DownloadProgress now = downloads.progress();
      if (now.files == now.all_files) break;
      look(now);
      std::this_thread::sleep_for(between_looks);
    }
    look(downloads.progress());
  });
}

void HubSource::end() {
  watcher_ = {};
  downloads_.reset();
  downloading_.clear();
}

void HubSource::wait_for(HeadTask& task) {
  wait_for_file(keys_of(task.head));
  wait_for_file(queries_of(task.head));
  measure(task);
}

void HubSource::wait_for_file(const HeadSide& side) {
  if (!downloads_) return;
  if (const std::optional<std::string> path = dump_.path(side)) downloads_->wait_for(*path);
}

double HubSource::largest_position(const std::stop_token& stop) {
  while (downloads_ && !downloads_->wait_for_all(between_looks)) {
  }
  return FileSource::largest_position(stop);
}

// In the Hub's cache a file is a link to its content, which is named by its etag.
std::optional<RecordedFile> HubSource::record(const HeadSide& side) const {
  const fs::path path = layout().file(side.side, side.head);
  RecordedFile recorded{path.lexically_relative(layout().folder).generic_string(), 0, {}, {}};
  std::error_code unknown;
  recorded.bytes = fs::file_size(path, unknown);
  if (unknown) return std::nullopt;
  const fs::path content = fs::read_symlink(path, unknown);
  if (!unknown) recorded.etag = content.filename().string();
  return recorded;
}

}  // namespace attention_plasticity
