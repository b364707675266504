#include "attention_plasticity/dump/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <system_error>
#include <vector>

#include "attention_plasticity/base/folder_names.h"
#include "attention_plasticity/base/head_number.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

/// The head that the name of a folder means.
struct NamedHead {
  Side side;
  HeadNumber head;
};

/// Takes `letter` and digits off the front of `text`. A number that no int holds becomes the largest int.
std::optional<int> take_number(std::string_view& text, char letter, std::ptrdiff_t least_digits) {
  if (!text.starts_with(letter)) return std::nullopt;
  int number = 0;
  const char* const first = text.data() + 1;
  const char* const last = text.data() + text.size();
  // from_chars would take a minus sign.
  if (first == last || *first == '-') return std::nullopt;
  const auto [end, error] = std::from_chars(first, last, number);
  if (end - first < least_digits) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc{} ? number : std::numeric_limits<int>::max();
}

/// The head that a name means by its form: l, digits, h, digits and q or k. The numbers may be too large.
std::optional<NamedHead> parse_form(std::string_view name, std::ptrdiff_t least_digits) {
  const auto layer = take_number(name, 'l', least_digits);
  if (!layer) return std::nullopt;
  const auto head = take_number(name, 'h', least_digits);
  if (!head || (name != "q" && name != "k")) return std::nullopt;
  return NamedHead{name == "q" ? Side::query : Side::key, {*layer, *head}};
}

/// The head that a folder's name means, with at least two digits for each number.
std::optional<NamedHead> parse_head_name(std::string_view name) {
  const auto named = parse_form(name, 2);
  const bool is_numbered = named && std::max(named->head.layer, named->head.head) <= most_head_number;
  return is_numbered ? named : std::nullopt;
}

/// Entries of a dump's folder that look like heads but are none. Users are warned, because a dump without them is
/// another dump.
class LeftOut {
 public:
  /// Takes note of a file in a sub-folder that is not a head.
  void add(std::string_view folder, std::string_view file) {
    if (!parse_form(folder, 1)) return;
    if (file == "data.parquet") heads_.emplace(folder);
    if (file.starts_with("data.parquet.")) heads_.insert(fmt::format("{}/{}", folder, file));
  }
  /// Takes note of a file beside the sub-folders.
  void add(std::string_view file) {
    if (!file.ends_with(".parquet")) return;
    (parse_form(file.substr(0, file.find('.')), 1) ? heads_ : others_).emplace(file);
  }

  std::vector<std::string> warnings() const {
    return heads_.empty() ? std::vector<std::string>{} : std::vector{text(heads_)};
  }
  /// The advice in a message about a folder without heads, where any Parquet file may have been meant as one.
  std::string advice() const {
    if (heads_.empty() && others_.empty()) return "check that this is the folder of a dump";
    return text(heads_.empty() ? others_ : heads_);
  }

 private:
  static std::string text(const std::set<std::string>& names) {
    const std::string first = shown_text(*names.begin());
    const std::string all =
        names.size() == 1 ? first + " is" : fmt::format("{} and {} more are", first, names.size() - 1);
    return fmt::format(
        "{} left out: a head is a folder named like l00h00q, with two digits or more for numbers from 0 to {}, that "
        "holds "
        "data.parquet, not compressed",
        all, most_head_number);
  }

  std::set<std::string> heads_;
  std::set<std::string> others_;
};

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

DumpLayout heads_in(const fs::path& folder, LeftOut& left_out) {
  DumpLayout layout;
  layout.folder = folder;
  for (const std::string& name : names_in(folder)) {
    const auto named = parse_head_name(name);
    if (!may_be_folder(folder / name)) {
      left_out.add(name);
    } else if (named && has_data_file(folder / name)) {
      add_head(layout, *named, name);
    } else if (parse_form(name, 1)) {
      std::error_code ignored;
      for (const std::string& file : folder_names(folder / name, ignored)) left_out.add(name, file);
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
std::string advice(const std::set<std::string>& with_heads, const LeftOut& left_out) {
  if (with_heads.empty()) return "; " + left_out.advice();
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
                          const std::set<std::string>& with_heads, const LeftOut& left_out) {
  if (holds_heads(layout)) {
    layout.warnings = left_out.warnings();
    if (missing) {
      layout.note =
          fmt::format("{} has no folder {}, but holds heads itself: these are used", root.string(), model_dir);
    }
    return layout;
  }
  if (missing) {
    throw Error(ErrorKind::input,
                fmt::format("has neither a folder {} nor heads ({}) of its own{}", model_dir, looked_for,
                            advice(with_heads, left_out)),
                root.string());
  }
  throw Error(ErrorKind::input, fmt::format("holds no heads ({}){}", looked_for, advice(with_heads, left_out)),
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

std::string head_folder_name(Side side, HeadNumber head) {
  return fmt::format("l{:02d}h{:02d}{}", head.layer, head.head, side == Side::query ? 'q' : 'k');
}

fs::path DumpLayout::file(Side side, HeadNumber head) const {
  const auto name = unusual_names.find({side, head});
  return folder / (name == unusual_names.end() ? head_folder_name(side, head) : name->second) / "data.parquet";
}

DumpLayout find_heads(const fs::path& root, const std::string& model_dir) {
  require_folder(root);
  const fs::path folder = model_dir.empty() ? root : root / model_dir;
  std::error_code error;
  const bool missing = !model_dir.empty() && fs::status(folder, error).type() == fs::file_type::not_found;
  if (!missing) require_folder(folder);
  LeftOut left_out;
  DumpLayout layout = heads_in(missing ? root : folder, left_out);
  const std::set<std::string> others =
      holds_heads(layout) ? std::set<std::string>{} : sub_folders_with_heads(layout.folder);
  return checked_layout(std::move(layout), root, model_dir, missing, others, left_out);
}

DumpLayout find_heads_among(std::span<const std::string> paths, const fs::path& root, const std::string& model_dir) {
  const std::string wanted = with_slash(model_dir);
  const bool missing =
      !wanted.empty() && std::ranges::none_of(paths, [&](const std::string& path) { return path.starts_with(wanted); });
  const std::string_view folder = missing ? std::string_view() : std::string_view(wanted);
  DumpLayout layout;
  layout.folder = folder.empty() ? root : root / folder.substr(0, folder.size() - 1);
  std::set<std::string> others;
  LeftOut left_out;
  for (const std::string& path : paths) {
    if (!path.starts_with(folder)) continue;
    const ListedFile listed = listed_file(std::string_view(path).substr(folder.size()));
    const auto named = listed.file == "data.parquet" ? parse_head_name(listed.folder) : std::nullopt;
    if (listed.folder.empty()) {
      left_out.add(listed.file);
    } else if (named && listed.before.empty()) {
      add_head(layout, *named, std::string(listed.folder));
    } else if (named) {
      others.emplace(listed.before.substr(0, listed.before.size() - 1));
    } else if (listed.before.empty()) {
      left_out.add(listed.folder, listed.file);
    }
  }
  return checked_layout(std::move(layout), root, model_dir, missing, others, left_out);
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
