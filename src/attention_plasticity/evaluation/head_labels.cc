#include "attention_plasticity/evaluation/head_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <set>
#include <span>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/evaluation/published_scores.h"
#include "attention_plasticity/results/csv.h"

namespace attention_plasticity {
namespace {

constexpr std::array<std::string_view, 4> id_columns{"layer", "q_head", "head", "k_head"};

struct IdColumns {
  std::size_t layer;
  std::size_t head;
  bool of_kv_heads;
};

IdColumns find_ids(const CsvTable& table) {
  const auto layer = table.find("layer");
  auto head = table.find("q_head");
  if (!head) head = table.find("head");
  const bool of_kv_heads = !head;
  if (!head) head = table.find("k_head");
  if (layer && head) return {*layer, *head, of_kv_heads};
  throw Error(ErrorKind::input,
              fmt::format("has no column {}; labels are a CSV with layer and q_head (or k_head), a matrix of numbers "
                          "between tabs, or a JSON object of \"layer-head\": [scores]",
                          layer ? "q_head or k_head" : "layer"),
              table.file);
}

// The most labels of a file. Each is compared with every measure.
constexpr std::size_t most_labels = 1000;
// The most columns of which a note of their own tells that they are left out.
constexpr std::size_t most_notes = 5;

// A column without a name is an index that pandas wrote.
bool may_be_label(const std::string& name) {
  return !name.empty() && std::ranges::find(id_columns, name) == id_columns.end();
}

// None, with a note in `labels`, when a field is not a number.
std::optional<std::vector<double>> label_values(const CsvTable& table, std::span<const std::size_t> rows,
                                                std::size_t column, HeadLabels& labels) {
  std::vector<double> values;
  for (const std::size_t row : rows) {
    try {
      values.push_back(table.number(row, column));
    } catch (const Error& error) {
      labels.notes.push_back(fmt::format("{}: left out as a label: {}", table.file, error.what()));
      return std::nullopt;
    }
  }
  return values;
}

HeadLabels labels_of_table(const CsvTable& table) {
  const IdColumns ids = find_ids(table);
  const auto count = static_cast<std::size_t>(std::ranges::count_if(table.columns, may_be_label));
  if (count > most_labels) {
    throw Error(ErrorKind::input,
                fmt::format("has {} columns of labels, and at most {} are read; leave out columns", count, most_labels),
                table.file);
  }
  HeadLabels labels{table.file, ids.of_kv_heads, {}, {}, {}};
  std::vector<LabelledHead> unsorted;
  unsorted.reserve(table.rows.size());
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    unsorted.push_back({table.index(row, ids.layer), table.index(row, ids.head)});
  }
  std::vector<std::size_t> rows(unsorted.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  const auto place = [&](std::size_t row) { return unsorted[row]; };
  std::ranges::stable_sort(rows, {}, place);
  const auto twin = std::ranges::adjacent_find(rows, {}, place);
  if (twin != rows.end()) {
    throw Error(ErrorKind::input,
                fmt::format("lines {} and {}: layer {}, {} {} has two rows", table.lines[*twin],
                            table.lines[*(twin + 1)], place(*twin).layer, table.columns[ids.head], place(*twin).head),
                table.file);
  }
  for (const std::size_t row : rows) labels.heads.push_back(unsorted[row]);
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    const std::string& name = table.columns[column];
    if (!may_be_label(name)) continue;
    if (auto values = label_values(table, rows, column, labels)) labels.labels.push_back({name, std::move(*values)});
  }
  if (labels.notes.size() > most_notes) {
    const std::size_t more = labels.notes.size() - most_notes;
    labels.notes.resize(most_notes);
    labels.notes.push_back(fmt::format("{}: {} more {} left out as labels: not all of their fields are numbers",
                                       table.file, more, more == 1 ? "column is" : "columns are"));
  }
  if (labels.labels.empty())
    throw Error(ErrorKind::input, "has no column of numbers beside layer and head", table.file);
  return labels;
}

HeadLabels labels_of_matrix(std::string_view text, const std::string& file) {
  HeadLabels labels{file, true, {}, {{"score", {}}}, {}};
  const auto matrix = parse_score_matrix(text, file);
  for (std::size_t layer = 0; layer < matrix.size(); ++layer) {
    for (std::size_t head = 0; head < matrix[layer].size(); ++head) {
      labels.heads.push_back({static_cast<int>(layer), static_cast<int>(head)});
      labels.labels[0].values.push_back(matrix[layer][head]);
    }
  }
  return labels;
}

HeadLabels labels_of_object(std::string_view text, const std::string& file) {
  HeadLabels labels{file, false, {}, {{"score", {}}}, {}};
  for (const PublishedScore& head : parse_score_object(text, file)) {
    labels.heads.push_back({head.layer, head.head});
    labels.labels[0].values.push_back(head.score);
  }
  return labels;
}

}  // namespace

std::optional<std::size_t> HeadLabels::find(const HeadId& head) const {
  const LabelledHead key{head.layer, of_kv_heads ? head.k_head : head.q_head};
  const auto found = std::ranges::lower_bound(heads, key);
  if (found == heads.end() || *found != key) return std::nullopt;
  return static_cast<std::size_t>(found - heads.begin());
}

HeadLabels parse_head_labels(std::string_view text, const std::string& file) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) throw Error(ErrorKind::input, "is empty; it should hold labels of heads", file);
  if (text[first] == '{' || text[first] == '[') return labels_of_object(text, file);
  if (is_score_matrix(text)) return labels_of_matrix(text, file);
  CsvTable table = parse_csv(text, file);
  if (table.rows.empty()) {
    find_ids(table);
    throw Error(ErrorKind::input, "has a header and no heads", file);
  }
  return labels_of_table(table);
}

HeadLabels read_head_labels(const std::filesystem::path& file) {
  return parse_head_labels(read_text_file(file), file.string());
}

std::string LabelFit::note(const HeadLabels& labels) const {
  if (only_measured == 0 && only_labelled == 0) return {};
  return fmt::format("{}: {} labelled, {} in the run, {} in both", labels.file,
                     counted_text(labels.heads.size(), labels.of_kv_heads ? "KV head" : "head"),
                     counted_text(joined + only_measured, "query head"), joined);
}

LabelFit fit_labels(const HeadLabels& labels, std::span<const HeadId> heads, const std::optional<RunDescription>& model,
                    const std::string& run) {
  if (model) {
    const int num_heads = labels.of_kv_heads ? model->num_k_heads : model->num_q_heads;
    const auto outside = std::ranges::count_if(labels.heads, [&](const LabelledHead& head) {
      return head.layer >= model->num_layers || head.head >= num_heads;
    });
    if (outside > 0) {
      throw Error(ErrorKind::input,
                  fmt::format("{} of its {} heads lie outside the {} layers of {} {} heads in {}; are both of the same "
                              "model?",
                              outside, labels.heads.size(), model->num_layers, num_heads,
                              labels.of_kv_heads ? "KV" : "query", run),
                  labels.file);
    }
  }
  LabelFit fit;
  std::set<std::size_t> found;
  for (const HeadId& head : heads) {
    const std::optional<std::size_t> place = labels.find(head);
    if (!place) continue;
    ++fit.joined;
    found.insert(*place);
  }
  if (fit.joined == 0) {
    throw Error(ErrorKind::input,
                fmt::format("none of the heads that it labels ({}) is in {}; are both of the same model?",
                            labels.heads.size(), run),
                labels.file);
  }
  fit.only_measured = heads.size() - fit.joined;
  fit.only_labelled = labels.heads.size() - found.size();
  return fit;
}

}  // namespace attention_plasticity
