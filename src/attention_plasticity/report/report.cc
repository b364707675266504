#include "attention_plasticity/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "attention_plasticity/base/printable.h"
#include "attention_plasticity/base/utf8.h"
#include "attention_plasticity/compare/series.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/evaluation/head_labels.h"
#include "attention_plasticity/json/json.h"
#include "attention_plasticity/report/block_json.h"
#include "attention_plasticity/report/comparison_data.h"
#include "attention_plasticity/report/head_cells.h"
#include "attention_plasticity/report/packed_blocks.h"
#include "attention_plasticity/report/page.h"
#include "attention_plasticity/report/page_template.h"
#include "attention_plasticity/results/result_files.h"
#include "attention_plasticity/version.h"

namespace attention_plasticity {
namespace {

// A run may have thousands of input files; the page shows only their number and bytes.
Json run_json(const ResultFiles& results, bool in_memory) {
  if (!results.run()) return nullptr;
  Json run = parse_json_object<Json>(results.run_text(), {.file = results.run()->string(), .unique_keys = true});
  run.erase("files");
  run.erase("tables");
  if (const auto config = run.find("config"); in_memory && config != run.end() && config->is_object()) {
    config->erase("output_dir");
  }
  const auto input = run.find("input");
  if (input == run.end() || !input->is_object()) return run;
  const auto files = input->find("files");
  if (files == input->end() || !files->is_array()) return run;
  double bytes = 0;
  for (const Json& entry : *files) {
    if (!entry.is_object()) continue;
    const auto size = entry.find("bytes");
    if (size != entry.end() && size->is_number()) bytes += size->get<double>();
  }
  *files = {{"count", files->size()}, {"bytes", bytes}};
  return run;
}

Json model_json(const HeadMetrics& metrics, const std::optional<RunDescription>& run) {
  int num_layers = run ? run->num_layers : 0;
  int num_q_heads = run ? run->num_q_heads : 0;
  int num_k_heads = run ? run->num_k_heads : 1;
  for (const HeadId& head : metrics.heads()) {
    num_layers = std::max(num_layers, head.layer + 1);
    num_q_heads = std::max(num_q_heads, head.q_head + 1);
    num_k_heads = std::max(num_k_heads, head.k_head + 1);
  }
  Json windows = Json::object();
  if (run) {
    for (const auto& [layer, window] : run->windows) windows[std::to_string(layer)] = window;
  }
  Json model{{"name", nullptr},
             {"num_layers", num_layers},
             {"num_q_heads", num_q_heads},
             {"num_k_heads", num_k_heads},
             {"windows", windows}};
  if (run && run->model) model["name"] = *run->model;
  return model;
}

Json metrics_json(const HeadMetrics& metrics, PackedBlocks& blocks) {
  Json json = Json::array();
  for (const std::string_view name : metrics.measures()) {
    json.push_back({{"name", name}, {"block", block_json(blocks.add_exact(metrics.values(name)))}});
  }
  return json;
}

// The labels of each measured head; NaN for a head without labels.
Json labels_json(const HeadLabels& labels, const HeadMetrics& metrics, PackedBlocks& blocks) {
  std::vector<std::optional<std::size_t>> places(metrics.heads().size());  // in the labels, by head
  std::ranges::transform(metrics.heads(), places.begin(), [&](const HeadId& head) { return labels.find(head); });
  Json json = Json::array();
  for (const HeadLabel& label : labels.labels) {
    std::vector<double> values(places.size(), std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (const auto place = places[i]) values[i] = label.values[*place];
    }
    json.push_back({{"name", label.name}, {"block", block_json(blocks.add_exact(values))}});
  }
  return json;
}

// The labels that were given, or those found beside the results or in the dump. What was found and cannot be used is
// left out, with a note.
std::optional<HeadLabels> labels_of(const ReportOptions& options, const ResultFiles& files, const HeadMetrics& metrics,
                                    std::vector<std::string>& notes) {
  const auto file = options.labels ? options.labels : files.labels();
  if (!file) return std::nullopt;
  try {
    HeadLabels labels = read_head_labels(*file);
    const LabelFit fit = fit_labels(labels, metrics.heads(), files.description(), metrics.file());
    notes.insert(notes.end(), labels.notes.begin(), labels.notes.end());
    if (std::string note = fit.note(labels); !note.empty()) notes.push_back(std::move(note));
    return labels;
  } catch (const Error& error) {
    if (options.labels) throw;
    notes.push_back(fmt::format("{}: ignored: {}", error.file(), error.what()));
    return std::nullopt;
  }
}

const char* topic_word(Topic topic) {
  constexpr const char* words[]{"Plasticity", "Queries", "Other"};
  return words[static_cast<std::size_t>(topic)];
}

// The ends of a range; null where there is none.
Json range_json(const ValueRange& range) {
  const auto end = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
  return Json::array({end(range.low), end(range.high)});
}

Json columns_json(const ResultTable& table) {
  Json columns = Json::array();
  for (const ResultColumn& column : table.columns) {
    if (!column.in_page) continue;
    columns.push_back({{"name", column.name},
                       {"meaning", column.meaning},
                       {"title", column.title},
                       {"range", range_json(column.range)},
                       {"colors", column.colors ? range_json(*column.colors) : Json()},
                       {"is_exact", is_exact(table, column)},
                       {"counted_by", column.counted_by},
                       {"counts", column.counts},
                       {"topic", topic_word(column.topic)},
                       {"error_of", column.error_of},
                       {"in_facts", column.in_facts},
                       {"in_list", column.in_list}});
  }
  return columns;
}

Json schema_json() {
  Json tables = Json::object();
  for (const ResultTable& table : result_tables()) {
    if (table.in_page && table.id != TableId::metrics) tables[std::string(table.name)] = columns_json(table);
  }
  const auto headline = headline_measures();
  return {{"headline", std::vector<std::string_view>(headline.begin(), headline.end())},
          {"topics", {topic_word(Topic::plasticity), topic_word(Topic::queries), topic_word(Topic::other)}},
          {"metrics", columns_json(result_table(TableId::metrics))},
          {"tables", std::move(tables)}};
}

// In 32 bits where they fit; doubles hold larger ones, rounded above 2^53.
PackedBlock packed_keys(const std::vector<std::int64_t>& keys, PackedBlocks& blocks) {
  if (std::ranges::all_of(keys, [](std::int64_t key) { return key <= std::numeric_limits<int>::max(); })) {
    return blocks.add_integers(std::vector<int>(keys.begin(), keys.end()));
  }
  return blocks.add_exact(std::vector<double>(keys.begin(), keys.end()));
}

Json table_json(const HeadCells& cells, PackedBlocks& blocks) {
  Json keys = Json::object();
  for (const HeadCells::Keys& key : cells.keys) keys[key.name] = block_json(packed_keys(key.values, blocks));
  Json columns = Json::object();
  for (const HeadCells::Column& column : cells.columns) {
    columns[column.name] = block_json(blocks.add_rounded(column.values));
  }
  return {{"cells", cells.num_cells}, {"keys", keys}, {"columns", columns}};
}

Json tables_json(const ResultFiles& files, const HeadMetrics& metrics, PackedBlocks& blocks,
                 std::vector<std::string>& notes) {
  Json json = Json::object();
  for (const ResultTable& table : result_tables()) {
    const auto& file = files.find(table.id);
    if (!table.in_page || table.id == TableId::metrics || !file) continue;
    const HeadCells cells = head_cells(files.read(table.id), metrics, table.id);
    if (cells.strangers > 0) {
      notes.push_back(fmt::format("{}: {} rows are left out because their heads are not in {}", file->string(),
                                  cells.strangers, metrics.file()));
    }
    json[std::string(table.name)] = table_json(cells, blocks);
  }
  return json;
}

// Everything that one run has written.
Json run_data(const std::filesystem::path& results, const ReportOptions& options, PackedBlocks& blocks,
              Report& report) {
  const ResultFiles files(results);
  const HeadMetrics metrics = read_head_metrics(files);
  report.heads += metrics.heads().size();
  for (const std::string& note : files.notes()) report.notes.push_back(note);
  for (std::string& line : files.left_out()) report.notes.push_back(std::move(line));
  Json run;
  run["source"] = options.in_memory ? Json() : Json(results.string());
  run["run"] = run_json(files, options.in_memory);
  run["model"] = model_json(metrics, files.description());
  run["heads"] = heads_json(metrics.heads(), blocks);
  run["metrics"] = metrics_json(metrics, blocks);
  run["labels"] = Json::array();
  run["labels_file"] = nullptr;
  if (const std::optional<HeadLabels> labels = labels_of(options, files, metrics, report.notes)) {
    run["labels"] = labels_json(*labels, metrics, blocks);
    run["labels_file"] = options.labels_name.value_or(labels->file);
  }
  run["tables"] = tables_json(files, metrics, blocks, report.notes);
  return run;
}

// A short name for each run: its last folder, or the whole path where others have the same.
std::vector<std::string> run_names(const std::vector<std::filesystem::path>& results) {
  std::map<std::string, int> counts;
  for (const std::filesystem::path& path : results) ++counts[results_name(path)];
  std::vector<std::string> names(results.size());
  std::ranges::transform(results, names.begin(), [&](const std::filesystem::path& path) {
    std::string name = results_name(path);
    return name.empty() || counts[name] > 1 ? path.string() : name;
  });
  return names;
}

// The axis of a series, and the places of its runs among those that were given, in ascending order of the axis.
struct PageOrder {
  std::optional<SeriesAxis> axis;  // none: no series
  std::vector<std::size_t> places;
};

// Two runs are a pair; more, or runs with a given axis, are a series.
PageOrder order_of(const ReportOptions& options) {
  PageOrder order;
  order.places.resize(options.results.size());
  std::iota(order.places.begin(), order.places.end(), std::size_t{0});
  if (options.results.size() < 3 && !options.x && !options.series) return order;
  std::vector<std::string> folders(options.results.size());
  std::ranges::transform(options.results, folders.begin(),
                         [](const std::filesystem::path& path) { return path.string(); });
  const SeriesAxis axis = options.x ? parse_axis(*options.x, folders) : axis_of_names(folders);
  std::ranges::stable_sort(order.places, {}, [&](std::size_t place) { return axis.values[place]; });
  order.axis = SeriesAxis{axis.name, {}};
  for (const std::size_t place : order.places) order.axis->values.push_back(axis.values[place]);
  return order;
}

// Several runs may give the same line.
std::vector<std::string> each_once(std::vector<std::string> lines) {
  std::vector<std::string> kept;
  kept.reserve(lines.size());
  for (std::string& line : lines) {
    if (std::ranges::find(kept, line) == kept.end()) kept.push_back(std::move(line));
  }
  return kept;
}

void add_comparisons(Json& head, const std::vector<std::filesystem::path>& results, const PageOrder& order,
                     const ReportOptions& options, PackedBlocks& blocks, Report& report) {
  head["comparisons"] = Json::array();
  head["series"] = nullptr;
  if (results.size() < 2) return;
  std::vector<PageRun> runs(results.size());
  std::ranges::transform(results, runs.begin(), read_page_run);
  std::vector<std::string> warnings;
  for (const RunPair& pair : pairs_of_page(runs.size())) {
    head["comparisons"].push_back(comparison_data(runs, pair, options.level, blocks, warnings));
  }
  report.warnings = each_once(std::move(warnings));
  if (!order.axis) return;
  const SeriesOptions series{{}, options.level, options.threshold};
  head["series"] = series_data(std::move(runs), *order.axis, series, blocks);
}

// Marks of direction and the like would change how a browser shows what stands around a name.
void make_printable(Json& json) {
  if (json.is_string()) {
    const auto& text = json.get_ref<const std::string&>();
    if (is_utf8(text)) json = printable_lines(text);
  } else if (json.is_structured()) {
    for (Json& value : json) make_printable(value);
  }
}

}  // namespace

bool has_page() { return !page_template().empty(); }

Report make_report(const ReportOptions& options) {
  if (!has_page()) {
    throw Error(ErrorKind::usage, "this build has no page; build with AP_BUILD_REPORT=ON");
  }
  if (options.results.empty()) throw Error(ErrorKind::usage, "a report needs the results of a run");
  const PageOrder order = order_of(options);
  std::vector<std::filesystem::path> results;
  results.reserve(order.places.size());
  for (const std::size_t place : order.places) results.push_back(options.results[place]);
  const std::vector<std::string> names = run_names(results);
  const ProgramVersion program = program_version();
  Report report;
  PackedBlocks blocks;
  Json head;
  head["schema"] = schema_json();
  head["program"] = {{"version", program.version}, {"commit", program.commit}};
  head["min_count"] = options.min_count;
  head["runs"] = Json::array();
  for (std::size_t i = 0; i < results.size(); ++i) {
    Json run = run_data(results[i], options, blocks, report);
    run["name"] = options.in_memory ? "in memory" : names[i];
    head["runs"].push_back(std::move(run));
  }
  report.notes = each_once(std::move(report.notes));
  add_comparisons(head, results, order, options, blocks, report);

  make_printable(head);
  // Names of columns may be any bytes; bytes that are not UTF-8 are shown as U+FFFD.
  const std::string json = head.dump(-1, ' ', true, Json::error_handler_t::replace);
  report.page = filled_page(page_template(), json, blocks.compressed_text());
  return report;
}

}  // namespace attention_plasticity
