#include "attention_plasticity/sweep/sweep_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "attention_plasticity/base/folder_names.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/results/schema.h"
#include "attention_plasticity/run/config_fields.h"
#include "attention_plasticity/settings/yaml_settings.h"
#include "attention_plasticity/store/store.h"
#include "attention_plasticity/store/store_address.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

struct ItemName {
  std::optional<std::string> name;
};

const FieldTable<ItemName>& name_table() {
  static const FieldTable<ItemName> table{
      {"name", values::text(), &ItemName::name,
       "Name of the run and of its folder; before the names of the runs that a pattern stands for.",
       "that of the dump"},
  };
  return table;
}

[[noreturn]] void refuse_at(const std::string& place, const std::string& problem) {
  throw Error(ErrorKind::usage, fmt::format("{}: {}", place, problem));
}

// Far more than a sweep has, and few enough to be held in memory.
constexpr std::size_t most_runs = 10'000;
// Of the settings of all runs together, with those that they share.
constexpr std::size_t most_bytes = std::size_t{64} << 20U;

bool is_pattern(std::string_view text) { return text.find_first_of("*?") != std::string_view::npos; }

std::size_t bytes_of(const Setting& setting) {
  return setting.field.size() + (setting.value ? setting.value->size() : 0);
}

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

// A field that is set.
struct Given {
  std::string field;
  std::string text;
  std::string where;

  [[noreturn]] void refuse(std::string_view problem) const {
    attention_plasticity::refuse(Setting{field, text, where}, problem);
  }
};

// The last setting of a field; none when there is none, or it is null.
std::optional<Given> find_last(std::span<const Setting> settings, std::string_view field) {
  std::optional<Given> found;
  for (const Setting& setting : settings) {
    if (setting.field != field) continue;
    found.reset();
    if (setting.value) found = Given{setting.field, *setting.value, setting.where};
  }
  return found;
}

// The folders that a path with patterns names, in order.
std::vector<fs::path> matching_folders(const fs::path& pattern) {
  std::vector<fs::path> found{pattern.root_path()};
  for (const fs::path& part : pattern.relative_path()) {
    if (part.empty()) continue;
    std::vector<fs::path> deeper;
    for (const fs::path& folder : found) {
      if (!is_pattern(part.string())) {
        deeper.push_back(folder / part);
        continue;
      }
      std::error_code unreadable;
      std::vector<std::string> names = folder_names(folder.empty() ? fs::path(".") : folder, unreadable);
      std::erase_if(names, [&](const std::string& name) {
        return name.starts_with('.') || !matches_pattern(name, part.string());
      });
      std::ranges::sort(names, comes_before);
      for (const std::string& name : names) deeper.push_back(folder / name);
    }
    found = std::move(deeper);
  }
  std::erase_if(found, [](const fs::path& folder) {
    std::error_code unknown;
    return !fs::is_directory(folder, unknown);
  });
  return found;
}

// The folder that matches a pattern, if a file of a store is one of a head below it.
std::optional<fs::path> folder_of_heads(const fs::path& file, const fs::path& pattern) {
  if (file.filename() != "data.parquet") return std::nullopt;
  fs::path folder;
  const fs::path above = file.parent_path().parent_path();  // of the folder of the head
  auto part = above.begin();
  for (const fs::path& wanted : pattern) {
    if (part == above.end() || !matches_pattern(part->string(), wanted.string())) return std::nullopt;
    folder /= *part++;
  }
  return folder;
}

std::string last_folder(const std::string& path) {
  const fs::path folder = fs::path(path).lexically_normal();
  return (folder.has_filename() ? folder : folder.parent_path()).filename().string();
}

// A name of a branch may have slashes.
std::string folder_name(std::string name) {
  std::ranges::replace(name, '/', '-');
  return name;
}

void check_name(const std::string& name, const std::string& where) {
  constexpr std::size_t longest = 200;
  if (name.empty() || name.starts_with('.') || name.find('/') != std::string::npos || name.size() > longest) {
    refuse_at(where, fmt::format("{} cannot be the name of a run, which is a folder's; give it another `name`",
                                 quoted_text(name)));
  }
}

// The runs of one item: names, and the field that differs.
struct Variant {
  std::string name;
  std::optional<Setting> setting;  ///< none: the item is one run
};

class Reading {
 public:
  Reading(const std::string& file, std::span<const Setting> flags, const RefsOf& refs)
      : file_(file), flags_(flags), refs_(refs) {}

  Sweep sweep() {
    const YamlList list = read_yaml_list(file_, "runs", config_fields(), sweep_item_fields());
    std::vector<Setting> common = list.settings;
    common.insert(common.end(), flags_.begin(), flags_.end());
    const std::optional<Given> output = find_last(common, "output_dir");
    if (!output) refuse_at(file_, "has no `output_dir`, the folder for the runs of the sweep");
    sweep_.output_dir = output->text;
    for (const YamlEntry& entry : list.entries) add(entry, list.settings);
    return std::move(sweep_);
  }

 private:
  void add(const YamlEntry& entry, const std::vector<Setting>& common) {
    std::vector<Setting> settings = common;
    std::optional<std::string> name;
    for (const Setting& setting : entry.settings) {
      if (setting.field == "output_dir") {
        refuse(setting, "a run of a sweep has its own folder below that of the sweep, by its name");
      }
      if (setting.field == "name") {
        name = setting.value;
      } else {
        settings.push_back(setting);
      }
    }
    settings.insert(settings.end(), flags_.begin(), flags_.end());
    for (Variant& variant : variants(name, settings, entry.where)) {
      check_name(variant.name, entry.where);
      const auto [first, is_new] = places_.emplace(variant.name, entry.where);
      if (!is_new) {
        refuse_at(entry.where, fmt::format("the name {} is that of a run of {} already; names must differ",
                                           quoted_text(variant.name), first->second));
      }
      if (sweep_.runs.size() == most_runs) refuse_count(sweep_.runs.size() + 1, entry.where);
      std::vector<Setting> own = settings;
      if (variant.setting) own.push_back(std::move(*variant.setting));
      own.push_back({"output_dir", (fs::path(sweep_.output_dir) / variant.name).string(), entry.where});
      SweepRun run{variant.name, resolve_config(own), entry.where};
      take(own, run);
      sweep_.runs.push_back(std::move(run));
    }
  }

  [[noreturn]] static void refuse_count(std::size_t count, const std::string& where) {
    refuse_at(where,
              fmt::format("with this item the sweep has {} runs or more, and at most {} are run; split the sweep, or "
                          "write a pattern that matches less",
                          count, most_runs));
  }

  // Counts what a run holds in memory: its settings, the path of each table, which begins with the folder, and its
  // lists: `layers: 0-9999` has 10,000 numbers.
  void take(std::span<const Setting> settings, const SweepRun& run) {
    std::size_t size = 0;
    for (const Setting& setting : settings) size += bytes_of(setting);
    size += result_tables().size() * bytes_of(settings.back());
    for (const auto* list : {&run.config.layers, &run.config.q_heads}) {
      if (*list) size += (*list)->size() * sizeof(int);
    }
    if (size > left_) {
      refuse_at(run.where,
                fmt::format("with this item the settings of the {} grow to more than {}; write shorter values beside "
                            "`runs`, which every run has, or split the sweep",
                            counted_text(sweep_.runs.size() + 1, "run"), size_text(most_bytes)));
    }
    left_ -= size;
  }

  std::vector<Variant> variants(const std::optional<std::string>& name, std::span<const Setting> settings,
                                const std::string& where) const {
    const std::optional<Given> root = find_last(settings, "dataset_local_root");
    // In an address of a store, ? begins its options.
    const bool is_stored = root && is_store_address(root->text);
    if (is_stored && root->text.substr(0, root->text.find('?')).find('*') != std::string::npos) {
      return of_stored_folders(name, *root);
    }
    if (root && !is_stored && is_pattern(root->text)) return of_folders(name, *root);
    const std::optional<Given> revision = find_last(settings, "dataset_revision");
    const std::optional<Given> repo = find_last(settings, "dataset_name");
    if (!root && revision && is_pattern(revision->text)) {
      if (!repo) revision->refuse("is a pattern of revisions, of which dataset? set `dataset_name`");
      return of_revisions(name, repo->text, *revision);
    }
    if (name) return {{*name, {}}};
    if (root) return {{last_folder(is_stored ? StoreAddress(root->text).shown() : root->text), {}}};
    if (!repo) refuse_at(where, "names no dump: `dataset_local_root`, or `dataset_name`");
    return {{folder_name(revision ? revision->text : repo->text), {}}};
  }

  static Variant variant(const std::optional<std::string>& name, const std::string& own, const Given& setting,
                         const std::string& value) {
    return {folder_name(name ? *name + "-" + own : own), Setting{setting.field, value, setting.where}};
  }

  // A folder is named after the first part of the path in which the pattern stands.
  static std::vector<Variant> of_folders(const std::optional<std::string>& name, const Given& root) {
    const fs::path pattern = fs::path(root.text).lexically_normal();
    const auto parts = static_cast<std::size_t>(
        std::distance(pattern.begin(),
                      std::ranges::find_if(pattern, [](const fs::path& part) { return is_pattern(part.string()); })));
    const std::vector<fs::path> folders = matching_folders(pattern);
    if (folders.empty()) root.refuse("no folder matches this pattern");
    if (folders.size() > most_runs) refuse_count(folders.size(), root.where);
    std::vector<Variant> found;
    found.reserve(folders.size());
    for (const fs::path& folder : folders) {
      found.push_back(variant(name, std::next(folder.begin(), static_cast<std::ptrdiff_t>(parts))->string(), root,
                              folder.string()));
    }
    return found;
  }

  // The store is listed once, below the part of the address that comes before the pattern.
  static std::vector<Variant> of_stored_folders(const std::optional<std::string>& name, const Given& root) {
    const std::string& text = root.text;
    const std::size_t begin = text.find("://") + 3;
    const std::size_t end = std::min(text.find('?'), text.size());
    const std::size_t slash = text.rfind('/', text.find('*'));
    if (slash <= begin) root.refuse("a pattern may stand for folders below a bucket or a folder only");
    const std::string above = text.substr(0, slash);
    const std::string options = text.substr(end);
    const fs::path pattern = text.substr(slash + 1, text.find_last_not_of('/', end - 1) - slash);
    std::set<std::string, decltype(&comes_before)> folders(comes_before);
    for (const ListedObject& object : Store(StoreAddress(above + options)).list()) {
      if (auto folder = folder_of_heads(object.path, pattern)) folders.insert(folder->string());
    }
    if (folders.empty()) root.refuse("no folder of the store matches this pattern and holds heads");
    std::vector<Variant> found;
    found.reserve(folders.size());
    for (const std::string& folder : folders) {
      found.push_back(
          variant(name, fs::path(folder).begin()->string(), root, fmt::format("{}/{}{}", above, folder, options)));
    }
    return found;
  }

  std::vector<Variant> of_revisions(const std::optional<std::string>& name, const std::string& repo,
                                    const Given& revision) const {
    const RepoRefs refs = refs_(repo);
    std::vector<std::string> names = refs.branches;
    names.insert(names.end(), refs.tags.begin(), refs.tags.end());
    std::erase_if(names, [&](const std::string& ref) { return !matches_pattern(ref, revision.text); });
    std::ranges::sort(names, comes_before);
    // clang 14, which builds the fuzz targets, does not compile std::ranges::unique.
    names.erase(std::unique(names.begin(), names.end()), names.end());
    if (names.empty()) revision.refuse(fmt::format("no branch or tag of {} matches this pattern", quoted_text(repo)));
    if (names.size() > most_runs) refuse_count(names.size(), revision.where);
    std::vector<Variant> found;
    found.reserve(names.size());
    for (const std::string& ref : names) found.push_back(variant(name, ref, revision, ref));
    return found;
  }

  const std::string& file_;
  std::span<const Setting> flags_;
  const RefsOf& refs_;
  Sweep sweep_;
  std::size_t left_ = most_bytes;
  std::map<std::string, std::string> places_;  // of runs, by name
};

}  // namespace

const std::vector<Field>& sweep_item_fields() {
  static const std::vector<Field> fields = [] {
    std::vector<Field> all = descriptions(name_table());
    all.insert(all.end(), config_fields().begin(), config_fields().end());
    return all;
  }();
  return fields;
}

// Where a * matches too little, it is tried with one character more: only the last one needs that.
bool matches_pattern(std::string_view name, std::string_view pattern) {
  std::size_t at = 0;
  std::size_t in_pattern = 0;
  std::optional<std::pair<std::size_t, std::size_t>> star;  // where to go on: in the pattern, in the name
  while (at < name.size()) {
    if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
      star = {++in_pattern, at};
    } else if (in_pattern < pattern.size() && (pattern[in_pattern] == '?' || pattern[in_pattern] == name[at])) {
      ++in_pattern;
      ++at;
    } else if (star) {
      in_pattern = star->first;
      at = ++star->second;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', in_pattern) == std::string_view::npos;
}

bool comes_before(std::string_view one, std::string_view other) {
  std::size_t a = 0;
  std::size_t b = 0;
  const auto number = [](std::string_view text, std::size_t& at) {
    while (at + 1 < text.size() && text[at] == '0' && is_digit(text[at + 1])) ++at;
    const std::size_t first = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return text.substr(first, at - first);
  };
  while (a < one.size() && b < other.size()) {
    if (is_digit(one[a]) && is_digit(other[b])) {
      const std::string_view x = number(one, a);
      const std::string_view y = number(other, b);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
    } else if (one[a] != other[b]) {
      return one[a] < other[b];
    } else {
      ++a;
      ++b;
    }
  }
  const std::size_t left = one.size() - a;
  const std::size_t other_left = other.size() - b;
  return left != other_left ? left < other_left : one < other;
}

Sweep read_sweep(const std::string& file, std::span<const Setting> flags, const RefsOf& refs) {
  return Reading(file, flags, refs).sweep();
}

}  // namespace attention_plasticity
