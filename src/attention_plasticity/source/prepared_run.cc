#include "attention_plasticity/source/prepared_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/dump/capture_metadata.h"
#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/rotation/inference.h"
#include "attention_plasticity/source/head_memory.h"
#include "attention_plasticity/source/run_rotation.h"
#include "attention_plasticity/store/store_address.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

int one_more_than_largest(const std::set<HeadNumber>& heads, int HeadNumber::* member) {
  int largest = -1;
  for (const HeadNumber& head : heads) largest = std::max(largest, head.*member);
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

void check_captured(const DumpLayout& layout, Side side, int HeadNumber::* member, const ModelSize& size,
                    const KnownSize& known) {
  const std::set<HeadNumber>& heads = side == Side::query ? layout.queries : layout.keys;
  const auto is_outside = [&](const HeadNumber& head) { return head.*member >= known.value; };
  const auto first = std::ranges::find_if(heads, is_outside);
  if (first == heads.end()) return;
  const auto count = std::ranges::count_if(heads, is_outside);
  throw Error(ErrorKind::usage,
              fmt::format("{} {} lies outside the model, since {}{}", size.what, (*first).*member, known.source,
                          count == 1 ? "" : fmt::format("; {} captured heads do so in all", count)),
              layout.file(side, *first).parent_path().string());
}

// The width of a file's vectors; 0 if it cannot be read, which is reported when its head is.
std::size_t width_in(const fs::path& file, const RunConfig& config, const DumpFiles& files) {
  try {
    return read_head_footer(files.open(file), static_cast<std::size_t>(config.max_vector_width)).width;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    return 0;
  }
}

// Whether the dump holds latent attention as some programs compute it: one key head for all query heads, in other
// components than config.json describes. The files tell, or, before they are there, the number of key heads given.
bool is_absorbed(const ModelShape& model, const RunConfig& config, const DumpLayout& layout) {
  if (!model.absorbed_width || layout.keys.empty()) return false;
  if (std::ranges::any_of(layout.keys, [](const HeadNumber& key) { return key.head != 0; })) return false;
  const std::size_t width = width_in(layout.file(Side::key, *layout.keys.begin()), config, layout.files());
  return width > 0 ? width == static_cast<std::size_t>(model.absorbed_width->value) : config.num_k_heads == 1;
}

ModelGrid model_grid(const RunConfig& config, const ModelShape& model, const DumpLayout& layout) {
  const int found_layers = std::max(one_more_than_largest(layout.queries, &HeadNumber::layer),
                                    one_more_than_largest(layout.keys, &HeadNumber::layer));
  const KnownSize layers = known_size(layers_size, config, config.num_layers, model.num_layers, found_layers);
  const KnownSize q_heads = known_size(q_heads_size, config, config.num_q_heads, model.num_q_heads,
                                       one_more_than_largest(layout.queries, &HeadNumber::head));
  const KnownSize k_heads = known_size(k_heads_size, config, config.num_k_heads, model.num_k_heads,
                                       one_more_than_largest(layout.keys, &HeadNumber::head));
  if (layout.queries.empty())
    throw Error(ErrorKind::input, "the dump holds keys but no queries", layout.folder.string());
  if (layout.keys.empty()) throw Error(ErrorKind::input, "the dump holds queries but no keys", layout.folder.string());
  check_captured(layout, Side::query, &HeadNumber::layer, layers_size, layers);
  check_captured(layout, Side::key, &HeadNumber::layer, layers_size, layers);
  check_captured(layout, Side::query, &HeadNumber::head, q_heads_size, q_heads);
  check_captured(layout, Side::key, &HeadNumber::head, k_heads_size, k_heads);
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

void add_tasks(PreparedRun& prepared, FileSource& source, const RunConfig& config) {
  for (const HeadNumber& query : prepared.layout.queries) {
    if (!is_selected(config.layers, query.layer) || !is_selected(config.q_heads, query.head)) continue;
    HeadTask task;
    task.head = {query.layer, query.head, prepared.grid.k_head(query.head)};
    source.prepare(task, prepared.tasks.empty() ? nullptr : &prepared.tasks.back());
    prepared.tasks.push_back(task);
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

std::string model_name(const CaptureMetadata& metadata, const DumpLayout& layout, const FoundDump& source) {
  if (metadata.model_name) return *metadata.model_name;
  // The folder of a snapshot is named by its commit, which would be meaningless to a reader.
  if (source.hub && layout.folder == source.root) return fmt::format("{}@{}", source.hub->repo, source.hub->revision);
  const fs::path folder = fs::absolute(layout.folder).lexically_normal();
  return (folder.has_filename() ? folder.filename() : folder.parent_path().filename()).string();
}

// `keeps`: rows that were fetched stay for the measuring of their heads, unless memory is limited.
RotationRows rows_of(HeadSource& source, const RunConfig& config, bool keeps) {
  return [&source, &config, keeps](const HeadSide& side, const std::function<void(const RowsView&)>& use) {
    if (config.memory_limit && row_bytes(source.size(side), config.analysis).read > *config.memory_limit) {
      throw Error(ErrorKind::input, "does not fit into `memory_limit`", source.file(side));
    }
    use(source.rows(side).rows.view());
    if (!keeps || config.memory_limit) source.release(side);
  };
}

void infer(PreparedRun& prepared, const RunConfig& config, const RunObserver& told, const std::stop_token& stop) {
  const std::vector<HeadSide> judged = judged_heads(sides_of(prepared.tasks));
  prepared.source->expect(judged, told, stop);
  InferredRotation inferred = infer_rotation(judged, rows_of(*prepared.source, config, false));
  prepared.rotation = std::move(inferred.rotation);
  prepared.rotation_shares = std::move(inferred.shares);
  prepared.infers_rotation = false;
  (inferred.may_be_wrong ? told.warning : told.note)(inferred.line);
}

bool needs_length(const PreparedRun& prepared) {
  return prepared.rotation && prepared.rotation->model.depends_on_length() && prepared.rotation->largest_position == 0;
}

bool needs_candidates(const PreparedRun& prepared, const RunConfig& config) {
  return prepared.rotation && is_rotation_checked(prepared, config) && !prepared.rotation->refined;
}

// The documents of a head's queries and keys. A row that names none is a document of its own.
std::vector<DocumentRange> documents_of(HeadSource& source, const HeadId& head) {
  const SourceDocuments queries = source.documents(queries_of(head));
  const SourceDocuments keys = source.documents(keys_of(head));
  std::vector<DocumentRange> documents = ranges_of(distinct_examples(queries.ids, keys.ids));
  const auto add_rows = [&](const SourceDocuments& of, std::uint64_t first) {
    if (of.ids.empty() && of.rows > 0) documents.push_back({first, first + of.rows - 1});
  };
  add_rows(queries, first_own_query_example);
  add_rows(keys, first_own_key_example);
  return documents;
}

// Announces what is decided from. Files of a store are read at once instead: what is fetched of them stays for the
// measuring of their heads.
void announce(PreparedRun& prepared, const std::vector<HeadSide>& sides, const RunObserver& told,
              const std::stop_token& stop) {
  if (!prepared.layout.files().are_remote()) prepared.source->expect(sides, told, stop);
}

// Finds the documents of the first head that can be read.
std::vector<DocumentRange> find_reference_documents(PreparedRun& prepared, const RunObserver& told,
                                                    const std::stop_token& stop) {
  for (HeadTask task : prepared.tasks) {
    if (stop.stop_requested()) throw_stopped();
    try {
      announce(prepared, {keys_of(task.head), queries_of(task.head)}, told, stop);
      if (prepared.source->is_awaited()) prepared.source->wait_for(task);
      return documents_of(*prepared.source, task.head);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;  // that of a head is reported when it is measured
    } catch (const std::bad_alloc&) {
      continue;  // reported when the head is measured
    }
  }
  return {};
}

}  // namespace

void require_fitting_rotation(const PreparedRun& prepared) {
  if (!prepared.rotation) return;
  // A head of another width than those that the rotation fits has the wrong width, which is an error of that head.
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

std::vector<RecordedFile> recorded_files(const PreparedRun& prepared) {
  if (prepared.known_files) return *prepared.known_files;
  return prepared.source ? prepared.source->files(prepared.tasks) : std::vector<RecordedFile>();
}

void set_rotation(PreparedRun& prepared, const RunConfig& config, std::optional<DumpRotation> found) {
  if (config.analysis.num_triples == 0) return;
  prepared.rotation = std::move(found);
  if (prepared.rotation) return;
  prepared.infers_rotation = config.analysis.vectors == Vectors::post;
  if (!prepared.infers_rotation) prepared.notes.emplace_back(pre_vectors_show_no_rotation);
}

PreparedRun prepare_run(const RunConfig& config, const FoundDump& dump) {
  PreparedRun prepared;
  prepared.layout = dump.layout;
  prepared.hub = dump.hub;
  const std::shared_ptr<FileSource> source =
      dump.source ? dump.source : std::make_shared<FileSource>(dump.layout, config);
  prepared.source = source;
  if (prepared.layout.note) prepared.notes.push_back(*prepared.layout.note);
  for (const std::string& warning : prepared.layout.warnings) prepared.warnings.push_back(warning);

  const DumpFiles& files = prepared.layout.files();
  CaptureMetadata metadata = read_capture_metadata(prepared.layout.folder, prepared.notes, files);
  ModelShape shape = find_model_shape(dump.root, prepared.layout.folder, prepared.warnings, files);
  if (is_absorbed(shape, config, prepared.layout)) {
    shape.width = shape.absorbed_width;
    if (shape.num_k_heads) shape.num_k_heads->value = 1;
  }
  prepared.grid = model_grid(config, shape, prepared.layout);
  const bool sizes_are_known = (config.num_q_heads || shape.num_q_heads) && (config.num_k_heads || shape.num_k_heads);
  if (!sizes_are_known) warn_of_assumed_sizes(prepared, dump.is_from_cache);
  prepared.model_width = std::move(shape.width);
  check_selection(config, prepared.grid.num_layers, prepared.grid.num_q_heads);
  prepared.model_name = model_name(metadata, prepared.layout, dump);
  prepared.sampling_strategy = std::move(metadata.sampling_strategy);
  prepared.sampling_bucket_size = metadata.bucket_size;

  add_tasks(prepared, *source, config);
  if (prepared.tasks.empty()) {
    throw Error(ErrorKind::input,
                "none of the selected heads was captured in this dump; `attention-plasticity inspect` "
                "lists those that were",
                prepared.layout.folder.string());
  }
  check_keys_captured(prepared);
  if (config.analysis.num_triples > 0) {
    // Files of the Hub may still be missing.
    const auto length = [&] { return dump.hub ? 0 : source->largest_position({}); };
    set_rotation(prepared, config, stated_rotation(config, dump.root, prepared.layout, length));
  }
  require_fitting_rotation(prepared);
  return prepared;
}

PreparedRun prepare_run(const RunConfig& config) { return prepare_run(config, find_dump(config)); }

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

FoundDump dump_on_hub(HubDump& dump, const RunConfig& config) {
  const Snapshot& snapshot = dump.snapshot();
  return {snapshot.folder(), dump.layout(), HubOrigin{snapshot.repo(), snapshot.revision(), snapshot.commit()},
          snapshot.is_from_cache(), std::make_shared<HubSource>(dump, config)};
}

std::vector<HeadSide> deciding_sides(const PreparedRun& prepared, const RunConfig& config) {
  if (needs_length(prepared)) return sides_of(prepared.tasks);
  std::vector<HeadSide> sides;
  const std::vector<HeadSide> judged = judged_heads(sides_of(prepared.tasks));
  if (prepared.infers_rotation) sides = judged;
  if (needs_candidates(prepared, config)) sides = heads_for_check(judged);
  if (config.analysis.standard_errors) {
    const HeadId& first = prepared.tasks.front().head;
    sides.insert(sides.end(), {keys_of(first), queries_of(first)});
  }
  return sides;
}

void decide_rotation(PreparedRun& prepared, const RunConfig& config, const RunObserver& told,
                     const std::stop_token& stop) {
  if (prepared.infers_rotation) {
    infer(prepared, config, told, stop);
    require_fitting_rotation(prepared);
  }
  if (prepared.rotation && needs_length(prepared)) {
    prepared.source->expect(sides_of(prepared.tasks), told, stop);
    prepared.rotation->largest_position = prepared.source->largest_position(stop);
    require_fitting_rotation(prepared);
  }
}

void decide(PreparedRun& prepared, const RunConfig& config, const RunObserver& told, const std::stop_token& stop) {
  decide_rotation(prepared, config, told, stop);
  if (prepared.rotation && needs_candidates(prepared, config)) {
    const std::vector<HeadSide> judged = judged_heads(sides_of(prepared.tasks));
    announce(prepared, heads_for_check(judged), told, stop);
    DumpRotation& rotation = *prepared.rotation;
    rotation.refined =
        refined_candidates(rotation, config.analysis.vectors, judged, rows_of(*prepared.source, config, true));
  }
  if (config.analysis.standard_errors && prepared.reference_documents.empty()) {
    prepared.reference_documents = find_reference_documents(prepared, told, stop);
  }
}

}  // namespace attention_plasticity
