#include "attention_plasticity/figure/captions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <utility>

namespace attention_plasticity {
namespace {

// "35 to 11,918"; one number where all are the same; empty where none is known.
class CountRange {
 public:
  void add(double count) {
    if (std::isnan(count)) return;
    low_ = std::min(low_, count);
    high_ = std::max(high_, count);
  }
  std::string text() const {
    if (low_ > high_) return {};
    return low_ == high_ ? count_text(low_) : fmt::format("{} to {}", count_text(low_), count_text(high_));
  }

 private:
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -low_;
};

CountRange range_of(const Matrix& counts) {
  CountRange range;
  for (const double count : std::span(counts.data(), counts.rows() * counts.cols())) range.add(count);
  return range;
}

// Which values are little data: the rule of supporting_count.
std::string little_data_text(std::string_view counted, std::size_t heads, double min_count) {
  if (heads == 1) return fmt::format("fewer than {} {}", count_text(min_count), counted);
  return fmt::format("{} × share of heads with any < {}", counted, count_text(min_count));
}

}  // namespace

std::size_t num_heads(const CsvTable& table) {
  const auto layer = table.find("layer");
  const auto q_head = table.find("q_head");
  if (!layer || !q_head) return 0;
  std::set<std::pair<int, int>> heads;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    heads.emplace(table.index(row, *layer), table.index(row, *q_head));
  }
  return heads.size();
}

std::string head_text(const CsvTable& table, std::size_t heads, std::size_t all_heads) {
  const std::size_t present = num_heads(table);
  if (present == 1) {
    return fmt::format("1 head (layer {}, head {})", table.index(0, table.find("layer").value_or(0)),
                       table.index(0, table.find("q_head").value_or(0)));
  }
  if (present < all_heads) return fmt::format("{} of {} heads", count_text(static_cast<double>(heads)), all_heads);
  return fmt::format("{} head{}", count_text(static_cast<double>(heads)), heads == 1 ? "" : "s");
}

std::string count_text(double count) {
  std::string text = fmt::format("{:.0f}", count);
  for (std::ptrdiff_t at = std::ssize(text) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

std::string curves_caption(const PlasticityCurves& curves, const std::string& heads, std::string_view counted,
                           double min_count, bool is_bound) {
  CountRange range;
  for (const CurvePoint& point : curves.mean) range.add(point.count);
  std::string text = heads;
  if (!range.text().empty()) text += fmt::format(", {} {} in a bucket", range.text(), counted);
  const bool has_errors =
      std::ranges::any_of(curves.mean, [](const CurvePoint& point) { return !std::isnan(point.error); });
  if (has_errors) {
    text += curves.num_heads > 1 && is_bound ? "; errors over documents are upper bounds" : "; errors over documents";
  }
  if (std::ranges::any_of(curves.mean, [&](const CurvePoint& point) { return point.support < min_count; })) {
    text += "; dotted: " + little_data_text(counted, curves.num_heads, min_count);
  }
  return text;
}

std::string cells_caption(const Matrix* counts, const std::string& heads, std::string_view counted, bool has_hatching,
                          std::size_t num_heads, double min_count) {
  if (counts == nullptr) return heads;
  std::string text = fmt::format("{}, {} {} in a cell", heads, range_of(*counts).text(), counted);
  if (has_hatching) text += "; hatched: " + little_data_text(counted, num_heads, min_count);
  return text;
}

std::string heads_caption(const Matrix& counts, const std::string& heads, std::string_view counted, bool has_hatching,
                          double min_count) {
  const std::string range = range_of(counts).text();
  if (range.empty() || counted.empty()) return heads;
  const bool is_single = counts.rows() * counts.cols() == 1;
  std::string text = fmt::format("{}, {} {}{}", heads, range, counted, is_single ? "" : " each");
  if (has_hatching) text += fmt::format("; hatched: fewer than {} {}", count_text(min_count), counted);
  return text;
}

}  // namespace attention_plasticity
