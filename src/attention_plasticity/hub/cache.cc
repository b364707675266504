#include "attention_plasticity/hub/cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "attention_plasticity/base/atomic_file.h"
#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& file, const std::error_code& reason) {
  throw Error(ErrorKind::output, reason.message(), file.string());
}

void make_folders(const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) fail(folder, failed);
}

std::string folder_name(const std::string& repo) {
  std::string name = "datasets--";
  for (const char c : repo) name += c == '/' ? std::string("--") : std::string(1, c);
  return name;
}

std::optional<std::string> content_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

bool points_to(const fs::path& link, const fs::path& target) {
  std::error_code missing;
  return fs::read_symlink(link, missing) == target && !missing;
}

// Returns false where the file system has no links.
bool place_link(const fs::path& target, const fs::path& link) {
  std::error_code failed;
  fs::create_symlink(target, link, failed);
  if (!failed) return true;
  // Another program has made the same link meanwhile.
  if (failed == std::errc::file_exists && points_to(link, target)) return true;
  const bool has_no_links = failed == std::errc::operation_not_permitted ||
                            failed == std::errc::operation_not_supported ||
                            failed == std::errc::function_not_supported || failed == std::errc::permission_denied;
  if (!has_no_links) fail(link, failed);
  return false;
}

}  // namespace

HubCache::HubCache(fs::path cache, const std::string& repo, bool use_symlinks)
    : cache_(std::move(cache)),
      folder_(cache_ / folder_name(repo)),
      locks_(cache_ / ".locks" / folder_name(repo)),
      use_symlinks_(use_symlinks) {}

fs::path HubCache::partial_blob(const std::string& etag) const { return folder_ / "blobs" / (etag + ".incomplete"); }

fs::path HubCache::lock_file(const std::string& etag) const { return locks_ / (etag + ".lock"); }

std::optional<std::string> HubCache::commit_of(const std::string& revision) const {
  if (is_commit(revision)) return revision;
  std::optional<std::string> commit = content_of(folder_ / "refs" / revision);
  if (!commit || !is_commit(*commit)) return std::nullopt;
  return commit;
}

void HubCache::set_commit(const std::string& revision, const std::string& commit) const {
  if (revision == commit) return;
  const fs::path ref = folder_ / "refs" / revision;
  if (content_of(ref) == commit) return;
  write_file_atomically(ref, commit);
}

bool HubCache::holds_file(const std::string& commit, const std::string& path) const {
  std::error_code missing;
  return fs::is_regular_file(file(commit, path), missing);
}

bool HubCache::holds_blob(const std::string& etag) const {
  std::error_code missing;
  return fs::is_regular_file(blob(etag), missing);
}

std::vector<std::string> HubCache::paths(const std::string& commit) const {
  std::vector<std::string> found;
  const fs::path folder = snapshot(commit);
  std::error_code failed;
  for (fs::recursive_directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    std::error_code unknown;
    if (entry->is_regular_file(unknown)) found.push_back(entry->path().lexically_relative(folder).generic_string());
  }
  std::ranges::sort(found);
  return found;
}

void HubCache::prepare() const {
  make_folders(folder_ / "blobs");
  make_folders(folder_ / "refs");
  const fs::path tag = cache_ / "CACHEDIR.TAG";
  std::error_code unknown;
  if (fs::exists(tag, unknown)) return;
  // The first line is defined by the Cache Directory Tagging Specification.
  write_file_atomically(tag,
                        "Signature: 8a477f597d28d172789f06886806bc55\n"
                        "# A cache of files from the Hugging Face Hub: backups may leave it out.\n");
}

void HubCache::place(const std::string& etag, const std::string& commit, const std::string& path, bool is_new) const {
  const fs::path content = blob(etag);
  const fs::path link = file(commit, path);
  const fs::path target = content.lexically_relative(link.parent_path());
  make_folders(link.parent_path());
  if (use_symlinks_ && points_to(link, target)) return;
  std::error_code failed;
  fs::remove(link, failed);  // it may be a link to a blob that is gone
  if (use_symlinks_ && place_link(target, link)) return;
  if (is_new) {
    fs::rename(content, link, failed);
  } else {
    AtomicFile copy(link);
    fs::copy_file(content, copy.temporary(), fs::copy_options::overwrite_existing, failed);
    if (!failed) copy.commit();
  }
  if (failed) fail(link, failed);
}

void HubCache::remove(const std::string& etag, const std::string& commit, const std::string& path) const {
  for (const fs::path& gone : {blob(etag), file(commit, path)}) {
    std::error_code failed;
    fs::remove(gone, failed);
    if (failed) fail(gone, failed);
  }
}

ContentDigest::ContentDigest(const RepoFile& file)
    : digest_(file.is_large ? DigestKind::sha256 : DigestKind::sha1),
      // A Git object is its kind, its size, a zero byte and its content.
      prefix_(file.is_large ? "" : fmt::format("blob {}", file.size) + '\0') {
  reset();
}

void ContentDigest::reset() {
  digest_.reset();
  digest_.add(prefix_);
}

bool has_digest(const std::filesystem::path& content, const RepoFile& file, const std::stop_token& stop) {
  std::ifstream in(content, std::ios::binary);
  ContentDigest digest(file);
  std::vector<char> buffer(std::size_t{1} << 20U);
  std::uint64_t size = 0;
  while (in) {
    throw_if_stopped(stop);
    in.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    const auto count = static_cast<std::size_t>(in.gcount());
    digest.add({buffer.data(), count});
    size += count;
  }
  if (!in.eof()) throw Error(ErrorKind::input, "this file of the cache cannot be read", content.string());
  return size == file.size && digest.finish() == file.etag;
}

}  // namespace attention_plasticity
