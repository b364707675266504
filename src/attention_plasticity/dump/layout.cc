#include "attention_plasticity/dump/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>
#include <vector>

#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

struct NamedHead {
  Side side;
  HeadKey head;
};

/// Takes `letter` and at least two digits off the front of `text`.
std::optional<int> take_number(std::string_view& text, char letter) {
  if (!text.starts_with(letter)) return std::nullopt;
  int number = 0;
  const char* const first = text.data() + 1;
  const char* const last = text.data() + text.size();
  // from_chars would take a minus sign.
  if (first == last || *first == '-') return std::nullopt;
  const auto [end, error] = std::from_chars(first, last, number);
  if (error != std::errc{} || end - first < 2) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

std::optional<NamedHead> parse_head_name(std::string_view name) {
  const auto layer = take_number(name, 'l');
  if (!layer) return std::nullopt;
  const auto head = take_number(name, 'h');
  if (!head) return std::nullopt;
  if (name == "q") return NamedHead{Side::query, {*layer, *head}};
  if (name == "k") return NamedHead{Side::key, {*layer, *head}};
  return std::nullopt;
}

/// True for a broken link too: a head that was captured but cannot be read is an error, not a gap.
bool has_data_file(const fs::path& folder) {
  std::error_code error;
  return fs::symlink_status(folder / "data.parquet", error).type() != fs::file_type::not_found && !error;
}

std::vector<fs::path> sub_folders(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_directory(ignored)) found.push_back(entry->path());
  }
  if (error) {
    throw Error(ErrorKind::input, fmt::format("cannot be listed: {}; check its permissions", error.message()),
                folder.string());
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

DumpLayout heads_in(const fs::path& folder) {
  DumpLayout layout;
  layout.folder = folder;
  for (const fs::path& path : sub_folders(folder)) {
    const std::string name = path.filename().string();
    const auto named = parse_head_name(name);
    if (named && has_data_file(path)) add_head(layout, *named, name);
  }
  return layout;
}

bool holds_heads(const DumpLayout& layout) { return !layout.queries.empty() || !layout.keys.empty(); }

std::set<std::string> sub_folders_with_heads(const fs::path& root) {
  std::set<std::string> with_heads;
  for (const fs::path& path : sub_folders(root)) {
    std::error_code error;
    // A sub-folder that cannot be listed is skipped: the search is only for advice in a message.
    for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
      if (parse_head_name(entry->path().filename().string()) && has_data_file(entry->path())) {
        with_heads.insert(path.filename().string());
        break;
      }
    }
  }
  return with_heads;
}

/// "; its sub-folder x holds heads: pass `model_dir: x`", or what to check when there is no such sub-folder.
std::string advice(const std::set<std::string>& with_heads) {
  if (with_heads.empty()) return "; check that this is the folder of a dump";
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
    throw Error(ErrorKind::input, "there is no such folder; check the path", folder.string());
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
                          const std::set<std::string>& with_heads) {
  if (holds_heads(layout)) {
    if (missing) {
      layout.note =
          fmt::format("{} has no folder {}, but holds heads itself: these are used", root.string(), model_dir);
    }
    return layout;
  }
  if (missing) {
    throw Error(
        ErrorKind::input,
        fmt::format("has neither a folder {} nor heads ({}) of its own{}", model_dir, looked_for, advice(with_heads)),
        root.string());
  }
  throw Error(ErrorKind::input, fmt::format("holds no heads ({}){}", looked_for, advice(with_heads)),
              layout.folder.string());
}

/// A path of a listing that ends in `/data.parquet`: the name of its folder, and the path before that name, which ends
/// in a slash or is empty.
struct ListedHead {
  std::string_view folder;
  std::string_view name;
};
std::optional<ListedHead> listed_head(std::string_view path) {
  constexpr std::string_view file = "/data.parquet";
  if (!path.ends_with(file)) return std::nullopt;
  path.remove_suffix(file.size());
  const std::size_t slash = path.rfind('/');
  const std::size_t folder = slash == std::string_view::npos ? 0 : slash + 1;
  return ListedHead{path.substr(0, folder), path.substr(folder)};
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
  DumpLayout layout = heads_in(missing ? root : folder);
  const std::set<std::string> others =
      holds_heads(layout) ? std::set<std::string>{} : sub_folders_with_heads(layout.folder);
  return checked_layout(std::move(layout), root, model_dir, missing, others);
}

DumpLayout find_heads_among(std::span<const std::string> paths, const fs::path& root, const std::string& model_dir) {
  const std::string wanted = with_slash(model_dir);
  const bool missing =
      !wanted.empty() && std::ranges::none_of(paths, [&](const std::string& path) { return path.starts_with(wanted); });
  const std::string_view folder = missing ? std::string_view() : std::string_view(wanted);
  DumpLayout layout;
  layout.folder = folder.empty() ? root : root / folder.substr(0, folder.size() - 1);
  std::set<std::string> others;
  for (const std::string& path : paths) {
    const auto listed = listed_head(path);
    const auto named = listed ? parse_head_name(listed->name) : std::nullopt;
    if (!named) continue;
    if (listed->folder == folder) {
      add_head(layout, *named, std::string(listed->name));
    } else if (listed->folder.starts_with(folder)) {
      others.emplace(listed->folder.substr(folder.size(), listed->folder.size() - folder.size() - 1));
    }
  }
  return checked_layout(std::move(layout), root, model_dir, missing, others);
}

}  // namespace attention_plasticity
