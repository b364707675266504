#include "attention_plasticity/run/prepared_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "attention_plasticity/dump/capture_metadata.h"
#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/run/read_options.h"
#include "attention_plasticity/run/rotation_inference.h"
#include "attention_plasticity/store/store_address.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

int one_more_than_largest(const std::set<HeadKey>& heads, int HeadKey::* member) {
  int largest = -1;
  for (const HeadKey& head : heads) largest = std::max(largest, head.*member);
  return largest + 1;
}

// A size of the model: its field of the configuration, its key in config.json, and one of what it counts.
struct ModelSize {
  std::string_view field;
  std::string_view key;
  std::string_view what;
};
constexpr ModelSize layers_size{"num_layers", "num_hidden_layers", "layer"};
constexpr ModelSize q_heads_size{"num_q_heads", "num_attention_heads", "query head"};
constexpr ModelSize k_heads_size{"num_k_heads", "num_key_value_heads", "key head"};

// The value of a size, and who says so.
struct KnownSize {
  int value = 0;
  std::string source;
};

KnownSize known_size(const ModelSize& size, const RunConfig& config, std::optional<int> given,
                     const std::optional<StatedNumber>& stated, int discovered) {
  const auto set = config.places.find(size.field);
  const std::string place = set == config.places.end() ? fmt::format("`{}`", size.field) : set->second;
  if (given && stated && *given != stated->value) {
    throw Error(ErrorKind::usage,
                fmt::format("{}: {} contradicts {} {} in {}; leave `{}` out, or correct the one that is wrong", place,
                            *given, size.key, stated->value, stated->file, size.field));
  }
  if (stated) return {stated->value, fmt::format("{} says {} {}", stated->file, size.key, stated->value)};
  if (given) return {*given, fmt::format("{} says {}", place, *given)};
  return {discovered, ""};  // no captured head lies outside of it
}

void check_captured(const DumpLayout& layout, Side side, int HeadKey::* member, const ModelSize& size,
                    const KnownSize& known) {
  const std::set<HeadKey>& heads = side == Side::query ? layout.queries : layout.keys;
  const auto is_outside = [&](const HeadKey& head) { return head.*member >= known.value; };
  const auto first = std::ranges::find_if(heads, is_outside);
  if (first == heads.end()) return;
  const auto count = std::ranges::count_if(heads, is_outside);
  throw Error(ErrorKind::usage,
              fmt::format("{} {} lies outside the model, since {}{}", size.what, (*first).*member, known.source,
                          count == 1 ? "" : fmt::format("; {} captured heads do so in all", count)),
              layout.file(side, *first).parent_path().string());
}

// None for a file that cannot be read, which is reported when the head is read.
std::optional<HeadFooter> readable_footer(const fs::path& file, const RunConfig& config, const DumpFiles& files) {
  try {
    return read_head_footer(files.open(file), read_options(config).max_vector_width);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    return std::nullopt;
  }
}

// Whether the dump holds latent attention as some programs compute it: one key head for all query heads, in other
// components than config.json describes. The files tell, or, before they are there, the number of key heads given.
bool is_absorbed(const ModelShape& model, const RunConfig& config, const DumpLayout& layout) {
  if (!model.absorbed_width || layout.keys.empty()) return false;
  if (std::ranges::any_of(layout.keys, [](const HeadKey& key) { return key.head != 0; })) return false;
  const auto footer =
      readable_footer(layout.file(Side::key, *layout.keys.begin()), config, layout.files()).value_or(HeadFooter{});
  return footer.width > 0 ? footer.width == static_cast<std::size_t>(model.absorbed_width->value)
                          : config.num_k_heads == 1;
}

ModelGrid model_grid(const RunConfig& config, const ModelShape& model, const DumpLayout& layout) {
  const int found_layers = std::max(one_more_than_largest(layout.queries, &HeadKey::layer),
                                    one_more_than_largest(layout.keys, &HeadKey::layer));
  const KnownSize layers = known_size(layers_size, config, config.num_layers, model.num_layers, found_layers);
  const KnownSize q_heads = known_size(q_heads_size, config, config.num_q_heads, model.num_q_heads,
                                       one_more_than_largest(layout.queries, &HeadKey::head));
  const KnownSize k_heads = known_size(k_heads_size, config, config.num_k_heads, model.num_k_heads,
                                       one_more_than_largest(layout.keys, &HeadKey::head));
  if (layout.queries.empty())
    throw Error(ErrorKind::input, "the dump holds keys but no queries", layout.folder.string());
  if (layout.keys.empty()) throw Error(ErrorKind::input, "the dump holds queries but no keys", layout.folder.string());
  check_captured(layout, Side::query, &HeadKey::layer, layers_size, layers);
  check_captured(layout, Side::key, &HeadKey::layer, layers_size, layers);
  check_captured(layout, Side::query, &HeadKey::head, q_heads_size, q_heads);
  check_captured(layout, Side::key, &HeadKey::head, k_heads_size, k_heads);
  const ModelGrid grid{layers.value, q_heads.value, k_heads.value};
  if (grid.num_q_heads % grid.num_k_heads != 0) {
    throw Error(
        ErrorKind::usage,
        fmt::format("{} query heads cannot be divided evenly among {} key heads; pass the model's `num_q_heads` "
                    "and `num_k_heads`",
                    grid.num_q_heads, grid.num_k_heads));
  }
  return grid;
}

using Selection = std::optional<std::vector<int>>;

bool is_selected(const Selection& selection, int number) {
  return !selection || std::ranges::binary_search(*selection, number);
}

std::size_t selected_of(const Selection& selection, int all) {
  return selection ? selection->size() : static_cast<std::size_t>(all);
}

// Peak memory of reading and analysing a file: two copies of its columns (the decoder's and ours), and for queries the
// doubles of the statistics.
std::uint64_t estimated_bytes(const HeadFooter& footer, Side side, const RunConfig& config) {
  const std::uint64_t kept =
      std::min<std::uint64_t>(footer.rows, config.analysis.max_tokens_per_head.value_or(footer.rows));
  const std::uint64_t row = footer.width * sizeof(float) + 24;
  const std::uint64_t subsample = kept < footer.rows ? kept * row : 0;
  const std::uint64_t doubles = side == Side::query ? 2 * kept * footer.width * sizeof(double) : 0;
  return 2 * footer.rows * row + subsample + doubles;
}

// The same for a file in a store, whose footer is read later, and of which nothing but the size is known: as if it held
// plain floats, with the bytes that were fetched beside them.
std::uint64_t estimated_bytes(const std::optional<FileIdentity>& listed, Side side) {
  constexpr std::uint64_t times_of_queries = 8;
  constexpr std::uint64_t times_of_keys = 4;
  return listed ? listed->bytes * (side == Side::query ? times_of_queries : times_of_keys) : 0;
}

void add_tasks(PreparedRun& prepared, const RunConfig& config) {
  for (const HeadKey& query : prepared.layout.queries) {
    if (!is_selected(config.layers, query.layer) || !is_selected(config.q_heads, query.head)) continue;
    HeadTask task;
    task.head = {query.layer, query.head, prepared.grid.k_head(query.head)};
    task.query_file = prepared.layout.file(Side::query, query);
    task.key_file = prepared.layout.file(Side::key, {query.layer, task.head.k_head});
    const DumpFiles& files = prepared.layout.files();
    if (files.are_remote()) {
      // Footers are read with the rest of the files, while heads are measured.
      task.query_identity = files.listed(task.query_file);
      task.key_identity = files.listed(task.key_file);
      task.query_bytes = estimated_bytes(task.query_identity, Side::query);
      task.key_bytes = estimated_bytes(task.key_identity, Side::key);
    } else {
      measure_files(task, config, files, prepared.tasks.empty() ? nullptr : &prepared.tasks.back());
    }
    prepared.tasks.push_back(std::move(task));
  }
  prepared.skipped =
      selected_of(config.layers, prepared.grid.num_layers) * selected_of(config.q_heads, prepared.grid.num_q_heads) -
      prepared.tasks.size();
}

// One message for one cause: without it, every head would fail by itself.
void check_keys_captured(const PreparedRun& prepared) {
  const auto has_keys = [&](const HeadTask& task) {
    return prepared.layout.keys.contains({task.head.layer, task.head.k_head});
  };
  if (std::ranges::any_of(prepared.tasks, has_keys)) return;
  throw Error(ErrorKind::input, "none of the key heads that the selected query heads read was captured",
              prepared.layout.folder.string());
}

// Where nothing states the sizes of the model, a dump that holds a part of its heads may look smaller than the model
// is, and query heads may be given the wrong keys.
void warn_of_assumed_sizes(PreparedRun& prepared, bool is_from_cache) {
  const auto all = [&](int heads) {
    return static_cast<std::size_t>(prepared.grid.num_layers) * static_cast<std::size_t>(heads);
  };
  const bool has_gaps = prepared.layout.queries.size() < all(prepared.grid.num_q_heads) ||
                        prepared.layout.keys.size() < all(prepared.grid.num_k_heads);
  if (!has_gaps && !is_from_cache) return;
  prepared.warnings.push_back(fmt::format(
      "{} query heads and {} key heads of a layer are assumed, one more than the largest number found; pass "
      "the model's `num_q_heads` and `num_k_heads` if this dump holds only some of its heads",
      prepared.grid.num_q_heads, prepared.grid.num_k_heads));
}

void note_large_heads(PreparedRun& prepared, const RunConfig& config) {
  // Of files in a store, the estimate is too rough to say so.
  if (!config.memory_limit || prepared.layout.files().are_remote()) return;
  const auto large = std::ranges::count_if(
      prepared.tasks, [&](const HeadTask& task) { return task.query_bytes + task.key_bytes > *config.memory_limit; });
  if (large == 0) return;
  prepared.notes.push_back(fmt::format("{} {} more memory than the limit of {} bytes and {} alone", large,
                                       large == 1 ? "head needs" : "heads need", *config.memory_limit,
                                       large == 1 ? "runs" : "run"));
}

// Whether files of a dump on the Hub are still to be downloaded.
bool is_incomplete(const PreparedRun& prepared) {
  return prepared.hub && std::ranges::any_of(prepared.tasks, [&](const HeadTask& task) {
           const bool has_keys = prepared.layout.keys.contains({task.head.layer, task.head.k_head});
           return !fs::exists(task.query_file) || (has_keys && !fs::exists(task.key_file));
         });
}

void add_rotation(PreparedRun& prepared, const RunConfig& config, const fs::path& root) {
  if (config.analysis.num_triples == 0) return;
  prepared.rotation = find_rotation(config, root, prepared.layout);
  if (prepared.rotation) {
    prepared.needs_all_files = prepared.rotation->model.depends_on_length();
    return;
  }
  if (config.analysis.vectors == Vectors::pre) {
    prepared.notes.emplace_back(pre_vectors_show_no_rotation);
    return;
  }
  prepared.needs_all_files = is_incomplete(prepared);
  if (prepared.needs_all_files) return;
  InferredRotation inferred = infer_rotation(rotation_files(prepared.tasks, prepared.layout.store), config);
  prepared.rotation = std::move(inferred.rotation);
  prepared.rotation_shares = std::move(inferred.shares);
  (inferred.may_be_wrong ? prepared.warnings : prepared.notes).push_back(std::move(inferred.line));
}

// A rotation that does not fit is refused before any head is read. Where it fits heads of another width, the head has
// the wrong width, which is an error of that head.
void check_rotation(const PreparedRun& prepared) {
  if (!prepared.rotation) return;
  std::map<std::size_t, std::exception_ptr> misfits;  // the first of each width
  std::set<std::size_t> fits;                         // widths
  std::set<std::pair<int, std::size_t>> seen;
  for (const HeadTask& task : prepared.tasks) {
    if (task.width == 0 || !seen.emplace(task.head.layer, task.width).second) continue;
    try {
      prepared.rotation->layer(task.head.layer, task.width);
      fits.insert(task.width);
    } catch (const Error&) {
      misfits.emplace(task.width, std::current_exception());
    }
  }
  for (const auto& [width, misfit] : misfits) {
    if (fits.empty() || fits.contains(width)) std::rethrow_exception(misfit);
  }
}

std::string model_name(const CaptureMetadata& metadata, const DumpLayout& layout, const FoundDump& source) {
  if (metadata.model_name) return *metadata.model_name;
  // The folder of a snapshot is named by its commit, which would be meaningless to a reader.
  if (source.hub && layout.folder == source.root) return fmt::format("{}@{}", source.hub->repo, source.hub->revision);
  const fs::path folder = fs::absolute(layout.folder).lexically_normal();
  return (folder.has_filename() ? folder.filename() : folder.parent_path().filename()).string();
}

}  // namespace

void measure_files(HeadTask& task, const RunConfig& config, const DumpFiles& files, const HeadTask* before) {
  if (const std::optional<HeadFooter> queries = readable_footer(task.query_file, config, files)) {
    task.query_bytes = estimated_bytes(*queries, Side::query, config);
    task.width = queries->width;
    task.query_rows = queries->rows;
    task.query_identity = queries->identity;
  }
  if (before != nullptr && before->key_file == task.key_file) {
    task.key_bytes = before->key_bytes;
    task.key_rows = before->key_rows;
    task.key_identity = before->key_identity;
  } else if (const std::optional<HeadFooter> keys = readable_footer(task.key_file, config, files)) {
    task.key_bytes = estimated_bytes(*keys, Side::key, config);
    task.key_rows = keys->rows;
    task.key_identity = keys->identity;
  }
}

namespace {

// None for a file that does not exist. What it was when the run was prepared counts, if that is known.
std::optional<RecordedFile> recorded_file(const fs::path& path, const std::optional<FileIdentity>& identity,
                                          const PreparedRun& prepared) {
  RecordedFile file{path.lexically_relative(prepared.layout.folder).generic_string(), 0, {}, {}};
  std::error_code unknown;
  if (!identity && prepared.layout.files().are_remote()) return std::nullopt;
  file.bytes = identity ? identity->bytes : fs::file_size(path, unknown);
  if (unknown) return std::nullopt;
  if (prepared.hub) {
    // In the Hub's cache a file is a link to its content, which is named by its etag.
    const fs::path content = fs::read_symlink(path, unknown);
    if (!unknown) file.etag = content.filename().string();
  } else if (identity) {
    file.modified_ns = identity->modified;
  } else {
    const fs::file_time_type time = fs::last_write_time(path, unknown);
    const auto since = std::chrono::file_clock::to_sys(time).time_since_epoch();
    if (!unknown) file.modified_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
  }
  return file;
}

}  // namespace

std::vector<RecordedFile> recorded_files(const PreparedRun& prepared) {
  if (prepared.known_files) return *prepared.known_files;
  std::map<fs::path, std::optional<FileIdentity>> paths;
  for (const HeadTask& task : prepared.tasks) {
    paths.emplace(task.query_file, task.query_identity);
    paths.emplace(task.key_file, task.key_identity);
  }
  std::vector<RecordedFile> files;
  files.reserve(paths.size());
  for (const auto& [path, identity] : paths) {
    if (std::optional<RecordedFile> file = recorded_file(path, identity, prepared)) files.push_back(*std::move(file));
  }
  return files;
}

PreparedRun prepare_run(const RunConfig& config, const FoundDump& source, const PreparedRun* decided) {
  PreparedRun prepared;
  const fs::path& root = source.root;
  prepared.layout = source.layout;
  prepared.hub = source.hub;
  if (prepared.layout.note) prepared.notes.push_back(*prepared.layout.note);
  for (const std::string& warning : prepared.layout.warnings) prepared.warnings.push_back(warning);

  const DumpFiles& files = prepared.layout.files();
  CaptureMetadata metadata = read_capture_metadata(prepared.layout.folder, prepared.notes, files);
  ModelShape shape = find_model_shape(root, prepared.layout.folder, prepared.warnings, files);
  if (is_absorbed(shape, config, prepared.layout)) {
    shape.width = shape.absorbed_width;
    if (shape.num_k_heads) shape.num_k_heads->value = 1;
  }
  prepared.grid = model_grid(config, shape, prepared.layout);
  const bool sizes_are_known = (config.num_q_heads || shape.num_q_heads) && (config.num_k_heads || shape.num_k_heads);
  if (!sizes_are_known) warn_of_assumed_sizes(prepared, source.is_from_cache);
  prepared.model_width = std::move(shape.width);
  check_selection(config, prepared.grid.num_layers, prepared.grid.num_q_heads);
  prepared.model_name = model_name(metadata, prepared.layout, source);
  prepared.sampling_strategy = std::move(metadata.sampling_strategy);
  prepared.sampling_bucket_size = metadata.bucket_size;

  add_tasks(prepared, config);
  if (prepared.tasks.empty()) {
    throw Error(ErrorKind::input,
                "none of the selected heads was captured in this dump; `attention-plasticity inspect` "
                "lists those that were",
                prepared.layout.folder.string());
  }
  check_keys_captured(prepared);
  note_large_heads(prepared, config);
  if (decided != nullptr) {
    prepared.rotation = decided->rotation;
    prepared.rotation_shares = decided->rotation_shares;
  } else {
    add_rotation(prepared, config, root);
  }
  check_rotation(prepared);
  return prepared;
}

FoundDump find_dump(const RunConfig& config) {
  if (!config.dataset_local_root) {
    throw Error(ErrorKind::usage, "a dump on disk is given as `dataset_local_root: FOLDER`");
  }
  if (config.dataset_address) {
    DumpLayout layout = find_heads_in_store(StoreAddress(*config.dataset_address), config.model_dir);
    return {StoreAddress(*config.dataset_address).shown(), std::move(layout), std::nullopt, false};
  }
  const fs::path root = *config.dataset_local_root;
  return {root, find_heads(root, config.model_dir), std::nullopt, false};
}

PreparedRun prepare_run(const RunConfig& config, const PreparedRun* decided) {
  return prepare_run(config, find_dump(config), decided);
}

}  // namespace attention_plasticity
