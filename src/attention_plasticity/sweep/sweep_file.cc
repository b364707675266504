#include "attention_plasticity/sweep/sweep_file.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <glob.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <utility>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/options/config_fields.h"
#include "attention_plasticity/results/schema.h"
#include "attention_plasticity/settings/yaml_settings.h"
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

bool is_pattern(std::string_view text) { return text.find_first_of("*?") != std::string_view::npos; }

// The last setting of a field; null when there is none or it has no value.
const Setting* find_last(std::span<const Setting> settings, std::string_view field) {
  const Setting* found = nullptr;
  for (const Setting& setting : settings) {
    if (setting.field == field) found = setting.value ? &setting : nullptr;
  }
  return found;
}

std::string text_of(const Setting& setting) { return setting.value.value_or(""); }

// A folder or revision that a pattern stands for, and the name of its run.
struct Match {
  std::string name;
  std::string value;
};

void sort_by_numbers(std::vector<std::string>& names) {
  std::ranges::sort(names, [](const std::string& one, const std::string& other) {
    return ::strverscmp(one.c_str(), other.c_str()) < 0;
  });
}

// A folder is named after the first part of the path in which the pattern stands.
std::vector<Match> matching_folders(const std::string& text) {
  fs::path pattern = fs::path(text).lexically_normal();
  if (!pattern.has_filename()) pattern = pattern.parent_path();
  const auto parts_before = std::distance(
      pattern.begin(), std::ranges::find_if(pattern, [](const fs::path& part) { return is_pattern(part.string()); }));
  glob_t found{};
  const std::unique_ptr<glob_t, decltype(&::globfree)> freed(&found, ::globfree);
  if (::glob(pattern.c_str(), GLOB_ONLYDIR | GLOB_NOSORT | GLOB_NOESCAPE, nullptr, &found) == GLOB_NOSPACE) {
    throw std::bad_alloc();
  }
  std::vector<std::string> folders(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  std::erase_if(folders, [](const std::string& folder) {
    std::error_code unknown;
    return !fs::is_directory(folder, unknown);
  });
  sort_by_numbers(folders);
  std::vector<Match> matches;
  matches.reserve(folders.size());
  for (const fs::path folder : folders) {
    matches.push_back({std::next(folder.begin(), parts_before)->string(), folder.string()});
  }
  return matches;
}

std::vector<Match> matching_revisions(const RepoRefs& refs, const std::string& pattern) {
  std::vector<std::string> names = refs.branches;
  names.insert(names.end(), refs.tags.begin(), refs.tags.end());
  std::erase_if(names,
                [&](const std::string& name) { return ::fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) != 0; });
  sort_by_numbers(names);
  // clang 14, which builds the fuzz targets, does not compile std::ranges::unique.
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::vector<Match> matches;
  matches.reserve(names.size());
  for (const std::string& name : names) matches.push_back({name, name});
  return matches;
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
  std::optional<Setting> setting;  // of a pattern
};

class Reading {
 public:
  Reading(const std::string& file, std::span<const Setting> flags, const RefsOf& refs)
      : file_(file), flags_(flags), refs_(refs) {}

  Sweep sweep() {
    const YamlList list = read_yaml_list(file_, "runs", config_fields(), sweep_item_fields());
    std::vector<Setting> common = list.settings;
    common.insert(common.end(), flags_.begin(), flags_.end());
    const Setting* const output = find_last(common, "output_dir");
    if (output == nullptr) refuse_at(file_, "has no `output_dir`, the folder for the runs of the sweep");
    sweep_.output_dir = text_of(*output);
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
      if (sweep_.runs.size() == most_runs) {
        refuse_at(entry.where,
                  fmt::format("with this item the sweep has more than {} runs; split the sweep, or write a "
                              "pattern that matches less",
                              most_runs));
      }
      std::vector<Setting> own = settings;
      if (variant.setting) own.push_back(std::move(*variant.setting));
      own.push_back({"output_dir", (fs::path(sweep_.output_dir) / variant.name).string(), entry.where});
      sweep_.runs.push_back({variant.name, resolve_config(own), entry.where});
      check_outputs(sweep_.runs.back());
    }
  }

  // Refuses a run that would replace a file of an earlier one, such as by an absolute `output_csv` beside `runs`.
  void check_outputs(const SweepRun& run) {
    const auto check = [&](const std::string& file) {
      if (file.empty()) return;  // not written
      const auto [first, is_new] = writers_.emplace(fs::absolute(file).lexically_normal().string(), run.name);
      if (is_new || first->second == run.name) return;
      refuse_at(run.where, fmt::format("the runs {} and {} would both write {}; leave the paths of tables out, which "
                                       "then go into the folder of each run, or give each run its own",
                                       quoted_text(first->second), quoted_text(run.name), quoted_text(file)));
    };
    for (const ResultTable& table : result_tables()) check(run.config.tables[table.id]);
    check(run_json_path(run.config));
  }

  std::vector<Variant> variants(const std::optional<std::string>& name, std::span<const Setting> settings,
                                const std::string& where) const {
    const Setting* const root = find_last(settings, "dataset_local_root");
    const Setting* const revision = find_last(settings, "dataset_revision");
    const Setting* const repo = find_last(settings, "dataset_name");
    if (root != nullptr && is_store_address(text_of(*root))) {
      const std::string address = text_of(*root);  // in which ? begins the options
      if (address.substr(0, address.find('?')).find('*') != std::string::npos) {
        refuse(*root,
               "a pattern stands for folders on disk only; write an item of `runs` for each folder of the store");
      }
      return {{name ? *name : last_folder(StoreAddress(address).shown()), {}}};
    }
    if (root != nullptr && is_pattern(text_of(*root))) {
      const std::vector<Match> folders = matching_folders(text_of(*root));
      if (folders.empty()) refuse(*root, "no folder matches this pattern");
      return variants_of(name, *root, folders);
    }
    if (root == nullptr && revision != nullptr && is_pattern(text_of(*revision))) {
      if (repo == nullptr) refuse(*revision, "is a pattern of revisions, of which dataset? set `dataset_name`");
      const std::vector<Match> revisions = matching_revisions(refs_(text_of(*repo)), text_of(*revision));
      if (revisions.empty()) {
        refuse(*revision, fmt::format("no branch or tag of {} matches this pattern", quoted_text(text_of(*repo))));
      }
      return variants_of(name, *revision, revisions);
    }
    if (name) return {{*name, {}}};
    if (root != nullptr) return {{last_folder(text_of(*root)), {}}};
    if (repo == nullptr) refuse_at(where, "names no dump: `dataset_local_root`, or `dataset_name`");
    return {{folder_name(text_of(revision != nullptr ? *revision : *repo)), {}}};
  }

  static std::vector<Variant> variants_of(const std::optional<std::string>& name, const Setting& pattern,
                                          std::span<const Match> matches) {
    std::vector<Variant> variants;
    variants.reserve(matches.size());
    for (const Match& match : matches) {
      variants.push_back({folder_name(name ? *name + "-" + match.name : match.name),
                          Setting{pattern.field, match.value, pattern.where}});
    }
    return variants;
  }

  const std::string& file_;
  std::span<const Setting> flags_;
  const RefsOf& refs_;
  Sweep sweep_;
  std::map<std::string, std::string> places_;   // of runs, by name
  std::map<std::string, std::string> writers_;  // names of runs, by the files that they write
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

Sweep read_sweep(const std::string& file, std::span<const Setting> flags, const RefsOf& refs) {
  return Reading(file, flags, refs).sweep();
}

}  // namespace attention_plasticity
