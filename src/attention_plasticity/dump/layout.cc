#include "attention_plasticity/dump/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <system_error>
#include <vector>

#include "attention_plasticity/base/folder_names.h"
#include "attention_plasticity/dump/near_heads.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

/// True for a broken link too: a head that was captured but cannot be read is an error, not a gap.
bool has_data_file(const fs::path& folder) {
  std::error_code error;
  return fs::symlink_status(folder / "data.parquet", error).type() != fs::file_type::not_found;
}

// True also for what cannot be looked at, so that reading it tells why.
bool may_be_folder(const fs::path& path) {
  std::error_code error;
  const fs::file_type type = fs::status(path, error).type();
  return type == fs::file_type::directory || type == fs::file_type::none;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::error_code error;
  std::vector<std::string> names = folder_names(folder, error);
  if (error) {
    throw Error(ErrorKind::input, fmt::format("cannot be listed: {}; check its permissions", error.message()),
                folder.string());
  }
  return names;
}

std::vector<fs::path> sub_folders(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const std::string& name : names_in(folder)) {
    std::error_code ignored;
    if (fs::is_directory(folder / name, ignored)) found.push_back(folder / name);
  }
  return found;
}

void add_head(DumpLayout& layout, const NamedHead& named, const std::string& name) {
  auto& heads = named.side == Side::query ? layout.queries : layout.keys;
  const auto key = std::pair{named.side, named.head};
  const bool seen = !heads.insert(named.head).second;
  if (name == head_folder_name(named.side, named.head)) {
    layout.unusual_names.erase(key);
  } else if (!seen) {
    layout.unusual_names.emplace(key, name);
  } else if (const auto other = layout.unusual_names.find(key); other != layout.unusual_names.end()) {
    // The order in which a folder is listed must not choose the file.
    other->second = std::min(other->second, name);
  }
}

// A folder that is not a head because of its name or of the name of the file in it.
void add_near_head(NearHeads& near, const fs::path& folder) {
  const std::string name = folder.filename().string();
  if (has_data_file(folder)) return near.add(name, "data.parquet");
  if (!parse_head_name(name, 1)) return;
  for (const std::string_view file : compressed_data_files()) {
    std::error_code unknown;
    if (fs::exists(folder / file, unknown)) near.add(name, file);
  }
}

DumpLayout heads_in(const fs::path& folder, NearHeads& near) {
  DumpLayout layout;
  layout.folder = folder;
  for (const std::string& name : names_in(folder)) {
    const auto named = parse_head_name(name);
    if (!may_be_folder(folder / name)) {
      near.add(name);
    } else if (named && has_data_file(folder / name)) {
      add_head(layout, *named, name);
    } else {
      add_near_head(near, folder / name);
    }
  }
  return layout;
}

bool holds_heads(const DumpLayout& layout) { return !layout.queries.empty() || !layout.keys.empty(); }

std::set<std::string> sub_folders_with_heads(const fs::path& root) {
  std::set<std::string> with_heads;
  for (const fs::path& path : sub_folders(root)) {
    std::error_code error;
    // A sub-folder that cannot be listed is skipped: the search is only for advice in a message.
    const std::vector<std::string> names = folder_names(path, error);
    const bool has_head = std::ranges::any_of(
        names, [&](const std::string& name) { return parse_head_name(name) && has_data_file(path / name); });
    if (has_head) with_heads.insert(path.filename().string());
  }
  return with_heads;
}

/// "; its sub-folder x holds heads: pass `model_dir: x`", or what is wrong with what is there.
std::string advice(const std::set<std::string>& with_heads, const NearHeads& near) {
  if (with_heads.empty()) {
    const std::string found = near.advice();
    return found.empty() ? "; check that this is the folder of a dump" : "; " + found;
  }
  if (with_heads.size() == 1) {
    return fmt::format("; its sub-folder {0} holds heads: pass `model_dir: {0}`", *with_heads.begin());
  }
  constexpr std::size_t named = 5;
  std::string names;
  for (auto name = with_heads.begin(); name != with_heads.end(); ++name) {
    if (std::distance(with_heads.begin(), name) == named) {
      names += fmt::format(" and {} more", with_heads.size() - named);
      break;
    }
    if (!names.empty()) names += ", ";
    names += *name;
  }
  return fmt::format("; its sub-folders {} hold heads: pass `model_dir: NAME`, such as `model_dir: {}`", names,
                     *with_heads.begin());
}

void require_folder(const fs::path& folder) {
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (status.type() == fs::file_type::not_found) {
    throw Error(ErrorKind::input,
                folder.string().starts_with('~')
                    ? "there is no such folder; ~ is expanded by a shell only, and not between quotes"
                    : "there is no such folder; check the path",
                folder.string());
  }
  if (!fs::status_known(status)) {
    throw Error(ErrorKind::input, fmt::format("cannot be read: {}", error.message()), folder.string());
  }
  if (!fs::is_directory(status)) {
    throw Error(ErrorKind::input, "is not a folder; a dump is a folder that holds l00h00q/data.parquet and so on",
                folder.string());
  }
}

constexpr std::string_view looked_for = "folders named like l00h00q with a data.parquet";

/// The layout that was found. Throws for a dump without heads. `missing`: there is no folder `model_dir`, and the root
/// was searched instead.
DumpLayout checked_layout(DumpLayout layout, const fs::path& root, const std::string& model_dir, bool missing,
                          const std::set<std::string>& with_heads, const NearHeads& near) {
  if (holds_heads(layout)) {
    layout.warnings = near.warnings();
    if (missing) {
      layout.note =
          fmt::format("{} has no folder {}, but holds heads itself: these are used", root.string(), model_dir);
    }
    return layout;
  }
  if (missing) {
    throw Error(ErrorKind::input,
                fmt::format("has neither a folder {} nor heads ({}) of its own{}", model_dir, looked_for,
                            advice(with_heads, near)),
                root.string());
  }
  throw Error(ErrorKind::input, fmt::format("holds no heads ({}){}", looked_for, advice(with_heads, near)),
              layout.folder.string());
}

/// A path of a listing: the name of the file, the name of its folder, and the path before that name, which ends in a
/// slash or is empty.
struct ListedFile {
  std::string_view before;
  std::string_view folder;
  std::string_view file;
};
ListedFile listed_file(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {{}, {}, path};
  const std::string_view folder = path.substr(0, slash);
  const std::size_t start = folder.find_last_of('/') + 1;  // npos + 1 is 0
  return {folder.substr(0, start), folder.substr(start), path.substr(slash + 1)};
}

std::string with_slash(const std::string& model_dir) {
  return model_dir.empty() || model_dir.ends_with('/') ? model_dir : model_dir + '/';
}

}  // namespace

std::string head_folder_name(Side side, HeadKey head) {
  return fmt::format("l{:02d}h{:02d}{}", head.layer, head.head, side == Side::query ? 'q' : 'k');
}

fs::path DumpLayout::file(Side side, HeadKey head) const {
  const auto name = unusual_names.find({side, head});
  return folder / (name == unusual_names.end() ? head_folder_name(side, head) : name->second) / "data.parquet";
}

DumpLayout find_heads(const fs::path& root, const std::string& model_dir) {
  require_folder(root);
  const fs::path folder = model_dir.empty() ? root : root / model_dir;
  std::error_code error;
  const bool missing = !model_dir.empty() && fs::status(folder, error).type() == fs::file_type::not_found;
  if (!missing) require_folder(folder);
  NearHeads near;
  DumpLayout layout = heads_in(missing ? root : folder, near);
  const std::set<std::string> others =
      holds_heads(layout) ? std::set<std::string>{} : sub_folders_with_heads(layout.folder);
  return checked_layout(std::move(layout), root, model_dir, missing, others, near);
}

DumpLayout find_heads_among(std::span<const std::string> paths, const fs::path& root, const std::string& model_dir) {
  const std::string wanted = with_slash(model_dir);
  const bool missing =
      !wanted.empty() && std::ranges::none_of(paths, [&](const std::string& path) { return path.starts_with(wanted); });
  const std::string_view folder = missing ? std::string_view() : std::string_view(wanted);
  DumpLayout layout;
  layout.folder = folder.empty() ? root : root / folder.substr(0, folder.size() - 1);
  std::set<std::string> others;
  NearHeads near;
  for (const std::string& path : paths) {
    if (!path.starts_with(folder)) continue;
    const ListedFile listed = listed_file(std::string_view(path).substr(folder.size()));
    const auto named = listed.file == "data.parquet" ? parse_head_name(listed.folder) : std::nullopt;
    if (listed.folder.empty()) {
      near.add(listed.file);
    } else if (named && listed.before.empty()) {
      add_head(layout, *named, std::string(listed.folder));
    } else if (named) {
      others.emplace(listed.before.substr(0, listed.before.size() - 1));
    } else if (listed.before.empty()) {
      near.add(listed.folder, listed.file);
    }
  }
  return checked_layout(std::move(layout), root, model_dir, missing, others, near);
}

DumpLayout find_heads_in_store(const StoreAddress& address, const std::string& model_dir) {
  const auto files = std::make_shared<const StoredFiles>(address);
  const std::vector<std::string> paths = files->paths();
  if (paths.empty()) {
    throw Error(ErrorKind::input, "there is no such folder in the store, or it is empty; check the address",
                files->root().string());
  }
  DumpLayout layout = find_heads_among(paths, files->root(), model_dir);
  layout.store = files;
  return layout;
}

}  // namespace attention_plasticity
