#include "attention_plasticity/compare/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/results/csv.h"
#include "attention_plasticity/stats/jackknife.h"
#include "attention_plasticity/stats/mean.h"

namespace attention_plasticity {
namespace {

using HeadPlace = std::pair<int, int>;  // layer and query head

HeadPlace place_of(const HeadId& head) { return {head.layer, head.q_head}; }

// A number in a name and the letters before it: 500 and "step" in "model12-step_500".
struct NumberInName {
  double value;
  std::string word;
};

std::vector<NumberInName> numbers_in(const std::string& name) {
  constexpr std::string_view digits = "0123456789";
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  std::vector<NumberInName> numbers;
  for (std::size_t begin = name.find_first_of(digits); begin != std::string::npos;) {
    const std::size_t end = std::min(name.find_first_not_of(digits, begin), name.size());
    std::size_t word_end = begin;
    while (word_end > 0 && (name[word_end - 1] == '-' || name[word_end - 1] == '_')) --word_end;
    std::size_t word = word_end;
    while (word > 0 && is_letter(name[word - 1])) --word;
    numbers.push_back({std::stod(name.substr(begin, end - begin)), name.substr(word, word_end - word)});
    begin = name.find_first_of(digits, end);
  }
  return numbers;
}

std::string folder_name(const std::string& folder) {
  const std::filesystem::path path = std::filesystem::path(folder).lexically_normal();
  return (path.has_filename() ? path.filename() : path.parent_path().filename()).string();
}

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorKind::usage, message); }

double axis_number(const std::string& text) {
  if (const auto number = finite_number(text)) return *number;
  refuse(fmt::format("`x`: {} is not a number", quoted_text(text)));
}

SeriesAxis axis_of_list(const std::string& name, const std::string& list, std::size_t runs) {
  SeriesAxis axis{name, {}};
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    axis.values.push_back(axis_number(list.substr(begin, end - begin)));
    begin = end + 1;
  }
  if (axis.values.size() == runs) return axis;
  refuse(fmt::format("`x` has {} values for {}", axis.values.size(), counted_text(runs, "run")));
}

SeriesAxis axis_of_table(const CsvTable& table, std::span<const std::string> folders) {
  const auto results = table.find("results");
  if (!results || table.columns.size() != 2) {
    throw Error(ErrorKind::input, "should have two columns: results, which names the folders, and a number",
                table.file);
  }
  const std::size_t x = 1 - *results;
  std::map<std::string, double> values;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    values[std::filesystem::path(table.rows[row][*results]).lexically_normal().string()] = table.number(row, x);
  }
  SeriesAxis axis{table.columns[x], {}};
  for (const std::string& folder : folders) {
    const auto found = values.find(std::filesystem::path(folder).lexically_normal().string());
    if (found == values.end() || std::isnan(found->second)) {
      throw Error(ErrorKind::input, fmt::format("has no {} of {}", axis.name, quoted_text(folder)), table.file);
    }
    axis.values.push_back(found->second);
  }
  return axis;
}

// The heads of all runs.
std::set<HeadPlace> common_heads(std::span<const ComparedRun* const> runs, std::size_t& left_out) {
  std::map<HeadPlace, std::size_t> counts;
  for (const ComparedRun* run : runs) {
    for (const HeadId& head : run->metrics.heads()) ++counts[place_of(head)];
  }
  std::set<HeadPlace> common;
  for (const auto& [place, count] : counts) {
    if (count == runs.size()) common.insert(place);
  }
  left_out = counts.size() - common.size();
  return common;
}

// Reached from below: 1; fallen below: -1. A value that does not exist crosses nothing.
int crossing(double before, double now, double threshold) {
  if (before < threshold && now >= threshold) return 1;
  if (before >= threshold && now < threshold) return -1;
  return 0;
}

// The standard errors of a column in one run, by head; empty where there are none.
std::vector<double> errors_of(const ComparedRun& run, const std::string& column) {
  const std::string_view errors = error_column(column);
  return run.metrics.has(errors) ? run.metrics.values(errors) : std::vector<double>{};
}

class ColumnBuilder {
 public:
  ColumnBuilder(const std::set<HeadPlace>& heads, const std::string& column, double threshold) : threshold_(threshold) {
    result_.column = column;
    for (const HeadPlace& place : heads) {
      places_[place] = result_.heads.size();
      result_.heads.push_back({{place.first, place.second, 0}, {}});
    }
  }

  // `change`: from the run before; null for the first.
  void add(const ComparedRun& run, const ColumnComparison* change) {
    const std::vector<double> values = run.metrics.values(result_.column);
    const std::vector<double> errors = errors_of(run, result_.column);
    const std::vector<HeadId>& heads = run.metrics.heads();
    for (std::size_t i = 0; i < heads.size(); ++i) {
      const auto found = places_.find(place_of(heads[i]));
      if (found == places_.end()) continue;
      HeadSeries& series = result_.heads[found->second];
      series.head = heads[i];
      SeriesPoint point;
      point.value = values[i];
      if (!errors.empty()) point.error = errors[i];
      if (!series.points.empty()) point.crossing = crossing(series.points.back().value, point.value, threshold_);
      series.points.push_back(point);
    }
    if (change == nullptr) return;
    result_.has_errors = change->has_errors;
    for (const HeadDifference& head : change->heads) {
      const auto found = places_.find(place_of(head.head));
      if (found != places_.end()) result_.heads[found->second].points.back().change = head;
    }
  }

  ColumnSeries built(std::span<const ComparedRun* const> runs, const std::vector<bool>& paired) {
    const std::vector<const HeadSeries*> whole = heads_with_every_value();
    result_.count = whole.size();
    LeaveOneOut before;  // the mean in the run before
    for (std::size_t run = 0; run < runs.size(); ++run) {
      SeriesPoint point;
      Mean mean;
      for (const HeadSeries* head : whole) mean.add(head->points[run].value);
      point.value = mean.value();
      const LeaveOneOut without = mean_without_groups(*runs[run], whole);
      point.error = jackknife_error(without.values);
      if (run > 0) add_model_change(point, result_.model.back(), without, before, paired[run]);
      if (run > 0) point.crossing = crossing(result_.model.back().value, point.value, threshold_);
      result_.model.push_back(point);
      before = without;
    }
    return std::move(result_);
  }

 private:
  std::vector<const HeadSeries*> heads_with_every_value() const {
    std::vector<const HeadSeries*> whole;
    for (const HeadSeries& head : result_.heads) {
      const bool has_all =
          std::ranges::none_of(head.points, [](const SeriesPoint& point) { return std::isnan(point.value); });
      if (has_all) whole.push_back(&head);
    }
    return whole;
  }

  // Empty where the groups of all heads are unknown.
  LeaveOneOut mean_without_groups(const ComparedRun& run, const std::vector<const HeadSeries*>& heads) const {
    const GroupValues* groups = run.groups_of(result_.column);
    if (groups == nullptr || !run.groups) return {};
    std::set<HeadPlace> wanted;
    for (const HeadSeries* head : heads) wanted.insert(place_of(head->head));
    GroupValues of_heads;
    for (std::size_t i = 0; i < run.metrics.heads().size(); ++i) {
      if (wanted.contains(place_of(run.metrics.heads()[i]))) of_heads.push_back((*groups)[i]);
    }
    return mean_over_heads(of_heads);
  }

  static void add_model_change(SeriesPoint& point, const SeriesPoint& last, const LeaveOneOut& without,
                               const LeaveOneOut& before, bool paired) {
    point.change.a = last.value;
    point.change.b = point.value;
    point.change.difference = point.value - last.value;
    set_error(point.change, before, without, paired, std::hypot(last.error, point.error));
  }

  double threshold_;
  std::map<HeadPlace, std::size_t> places_;
  ColumnSeries result_;
};

}  // namespace

SeriesAxis axis_of_names(std::span<const std::string> folders) {
  SeriesAxis axis;
  std::vector<std::vector<NumberInName>> numbers;
  numbers.reserve(folders.size());
  for (const std::string& folder : folders) numbers.push_back(numbers_in(folder_name(folder)));
  const bool alike = std::ranges::all_of(
      numbers, [&](const std::vector<NumberInName>& of_name) { return of_name.size() == numbers.front().size(); });
  for (std::size_t i = numbers.empty() || !alike ? 0 : numbers.front().size(); i > 0; --i) {
    std::set<double> distinct;
    for (const std::vector<NumberInName>& of_name : numbers) distinct.insert(of_name[i - 1].value);
    if (distinct.size() != numbers.size()) continue;
    for (const std::vector<NumberInName>& of_name : numbers) axis.values.push_back(of_name[i - 1].value);
    if (!numbers.front()[i - 1].word.empty()) axis.name = numbers.front()[i - 1].word;
    return axis;
  }
  axis.values.resize(folders.size());
  std::iota(axis.values.begin(), axis.values.end(), 0.0);
  return axis;
}

SeriesAxis parse_axis(const std::string& text, std::span<const std::string> folders) {
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos && equals > 0) {
    return axis_of_list(text.substr(0, equals), text.substr(equals + 1), folders.size());
  }
  return axis_of_table(read_csv(text), folders);
}

Series make_series(std::span<const ComparedRun> runs, const SeriesAxis& axis, const SeriesOptions& options) {
  if (runs.size() < 2) refuse("a series takes two runs or more");
  Series series;
  series.level = options.level;
  series.threshold = options.threshold;
  series.axis.name = axis.name;
  series.order.resize(runs.size());
  std::iota(series.order.begin(), series.order.end(), std::size_t{0});
  std::ranges::stable_sort(series.order, {}, [&](std::size_t run) { return axis.values[run]; });
  std::vector<const ComparedRun*> ordered;
  for (const std::size_t run : series.order) {
    if (!series.axis.values.empty() && series.axis.values.back() == axis.values[run]) {
      refuse(fmt::format("two runs have the same {}, {}: {} and {}", axis.name, axis.values[run],
                         quoted_text(ordered.back()->folder), quoted_text(runs[run].folder)));
    }
    series.axis.values.push_back(axis.values[run]);
    ordered.push_back(&runs[run]);
  }

  const std::set<HeadPlace> heads = common_heads(ordered, series.left_out);
  if (heads.empty()) throw Error(ErrorKind::input, "the runs have no head in common");
  std::vector<ColumnBuilder> builders;
  series.paired.push_back(false);
  for (std::size_t run = 1; run < ordered.size(); ++run) {
    const Comparison step = compare(*ordered[run - 1], *ordered[run], {options.columns, options.level});
    series.paired.push_back(step.paired);
    for (const std::string& caveat : step.caveats) {
      if (std::ranges::find(series.caveats, caveat) == series.caveats.end()) series.caveats.push_back(caveat);
    }
    if (run == 1) {
      for (const ColumnComparison& column : step.columns) {
        builders.emplace_back(heads, column.column, options.threshold).add(*ordered[0], nullptr);
      }
    }
    for (std::size_t i = 0; i < builders.size(); ++i) builders[i].add(*ordered[run], &step.columns.at(i));
  }
  for (ColumnBuilder& builder : builders) series.columns.push_back(builder.built(ordered, series.paired));
  return series;
}

}  // namespace attention_plasticity
