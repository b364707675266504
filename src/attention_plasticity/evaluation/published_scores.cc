#include "attention_plasticity/evaluation/published_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/json/json.h"
#include "attention_plasticity/results/csv.h"

namespace attention_plasticity {
namespace {

// Cuts the text before `separator` off the front of `rest`.
std::string_view cut(std::string_view& rest, char separator) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

std::string_view cut_line(std::string_view& rest) {
  std::string_view line = cut(rest, '\n');
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool is_skipped(std::string_view line) {
  line = trimmed_text(line);
  return line.empty() || line.starts_with('#');
}

std::optional<double> matrix_field(std::string_view text) {
  text = trimmed_text(text);
  if (text == "nan" || text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  return finite_number(text);
}

// None when a field is not a number; `bad` is then that field.
std::optional<std::vector<double>> matrix_row(std::string_view line, std::string_view& bad) {
  std::vector<double> row;
  while (true) {
    const bool last = line.find('\t') == std::string_view::npos;
    const std::string_view field = cut(line, '\t');
    const auto value = matrix_field(field);
    if (!value) {
      bad = field;
      return std::nullopt;
    }
    row.push_back(*value);
    if (last) return row;
  }
}

std::optional<int> small_index(std::string_view digits) {
  constexpr std::size_t most_digits = 4;
  int value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) return std::nullopt;
  if (digits.starts_with('-') || digits.size() > most_digits) return std::nullopt;
  return value;
}

// "12-3" as layer and head.
std::optional<std::pair<int, int>> layer_and_head(std::string_view key) {
  const std::size_t dash = key.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto layer = small_index(key.substr(0, dash));
  const auto head = small_index(key.substr(dash + 1));
  if (!layer || !head) return std::nullopt;
  return std::pair(*layer, *head);
}

double mean_of(const nlohmann::json& scores, const std::string& key, const std::string& file) {
  const bool numbers = scores.is_array() && !scores.empty() &&
                       std::ranges::all_of(scores, [](const nlohmann::json& score) { return score.is_number(); });
  if (!numbers) {
    throw Error(ErrorKind::input, fmt::format("{}: should hold a list of numbers, at least one", quoted_text(key)),
                file);
  }
  double sum = 0;
  for (const nlohmann::json& score : scores) sum += score.get<double>();
  return sum / static_cast<double>(scores.size());
}

}  // namespace

bool is_score_matrix(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = cut_line(text);
    std::string_view bad;
    if (!is_skipped(line)) return matrix_row(line, bad).has_value();
  }
  return false;
}

std::vector<std::vector<double>> parse_score_matrix(std::string_view text, const std::string& file) {
  std::vector<std::vector<double>> rows;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = cut_line(text);
    if (is_skipped(line)) continue;
    std::string_view bad;
    auto row = matrix_row(line, bad);
    if (!row) {
      throw Error(ErrorKind::input, fmt::format("line {}: {} is not a finite number", number, quoted_text(bad)), file);
    }
    if (!rows.empty() && row->size() != rows.front().size()) {
      throw Error(
          ErrorKind::input,
          fmt::format("line {}: {} KV heads where the lines before have {}", number, row->size(), rows.front().size()),
          file);
    }
    rows.push_back(std::move(*row));
  }
  return rows;
}

std::vector<PublishedScore> parse_score_object(std::string_view text, const std::string& file) {
  const nlohmann::json json = parse_json_object(text, {.file = file, .unique_keys = true});
  std::vector<PublishedScore> heads;
  for (const auto& [key, scores] : json.items()) {
    const auto place = layer_and_head(key);
    if (!place) {
      throw Error(ErrorKind::input, fmt::format("{}: keys should be layer and head, such as 12-3", quoted_text(key)),
                  file);
    }
    heads.push_back({place->first, place->second, mean_of(scores, key, file)});
  }
  if (heads.empty()) throw Error(ErrorKind::input, "is an object without heads", file);
  const auto place = [](const PublishedScore& head) { return std::pair(head.layer, head.head); };
  std::ranges::sort(heads, {}, place);
  const auto twin = std::ranges::adjacent_find(heads, {}, place);
  if (twin != heads.end()) {
    throw Error(ErrorKind::input, fmt::format("layer {}, head {} occurs twice", twin->layer, twin->head), file);
  }
  return heads;
}

}  // namespace attention_plasticity
