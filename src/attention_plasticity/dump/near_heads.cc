#include "attention_plasticity/dump/near_heads.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "attention_plasticity/base/head_number.h"
#include "attention_plasticity/base/text.h"

namespace attention_plasticity {
namespace {

constexpr std::string_view parquet_ending = ".parquet";
constexpr std::array<std::string_view, 5> compressed_files{"data.parquet.gz", "data.parquet.zst", "data.parquet.bz2",
                                                           "data.parquet.xz", "data.parquet.zip"};

constexpr int beyond = std::numeric_limits<int>::max();

// Takes `letter` and digits off the front of `text`. `beyond` for a number that no int holds.
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
  return error == std::errc{} ? number : beyond;
}

// The head that a name means, with any numbers.
std::optional<NamedHead> any_named_head(std::string_view name, std::ptrdiff_t least_digits) {
  const auto layer = take_number(name, 'l', least_digits);
  if (!layer) return std::nullopt;
  const auto head = take_number(name, 'h', least_digits);
  if (!head) return std::nullopt;
  if (name == "q") return NamedHead{Side::query, {*layer, *head}};
  if (name == "k") return NamedHead{Side::key, {*layer, *head}};
  return std::nullopt;
}

bool is_numbered(const HeadKey& head) { return head.layer <= most_head_number && head.head <= most_head_number; }

// The name that a head's folder should have; empty if `name` does not mean a head.
std::string right_name(std::string_view name) {
  const auto named = parse_head_name(name, 1);
  return named ? head_folder_name(named->side, named->head) : std::string();
}

// "l0h0q", or "l0h0q and 3 more".
std::string first_and_more(const std::set<std::string>& names) {
  const std::string first = shown_text(*names.begin());
  return names.size() == 1 ? first : fmt::format("{} and {} more", first, names.size() - 1);
}

const char* are(const std::set<std::string>& names) { return names.size() == 1 ? "is" : "are"; }

}  // namespace

std::optional<NamedHead> parse_head_name(std::string_view name, std::ptrdiff_t least_digits) {
  const auto named = any_named_head(name, least_digits);
  return named && is_numbered(named->head) ? named : std::nullopt;
}

std::span<const std::string_view> compressed_data_files() { return compressed_files; }

void NearHeads::add(std::string_view folder, std::string_view file) {
  if (right_name(folder).empty()) {
    if (file == "data.parquet" && any_named_head(folder, 1)) large_numbers_.emplace(folder);
    return;
  }
  if (file == "data.parquet") {
    if (!parse_head_name(folder)) few_digits_.emplace(folder);
  } else if (std::ranges::find(compressed_files, file) != compressed_files.end()) {
    compressed_.insert(fmt::format("{}/{}", folder, file));
  }
}

void NearHeads::add(std::string_view file) {
  if (!file.ends_with(parquet_ending)) return;
  const std::string_view stem = file.substr(0, file.size() - parquet_ending.size());
  (right_name(stem).empty() ? other_ : flat_).emplace(file);
}

std::vector<std::string> NearHeads::warnings() const {
  std::vector<std::string> lines;
  if (!few_digits_.empty()) {
    lines.push_back(fmt::format("{} {} left out: a head's numbers have at least two digits; rename {} to {}",
                                first_and_more(few_digits_), are(few_digits_), *few_digits_.begin(),
                                right_name(*few_digits_.begin())));
  }
  if (!large_numbers_.empty()) {
    lines.push_back(fmt::format("{} {} left out: layers and heads have numbers from 0 to {}",
                                first_and_more(large_numbers_), are(large_numbers_), most_head_number));
  }
  if (!compressed_.empty()) {
    lines.push_back(fmt::format("{} {} left out: decompress to data.parquet, which is compressed inside already",
                                first_and_more(compressed_), are(compressed_)));
  }
  if (!flat_.empty()) {
    const std::string_view first = *flat_.begin();
    lines.push_back(fmt::format("{} {} left out: each head has a folder of its own; move {} to {}/data.parquet",
                                first_and_more(flat_), are(flat_), first,
                                right_name(first.substr(0, first.size() - parquet_ending.size()))));
  }
  return lines;
}

std::string NearHeads::advice() const {
  std::vector<std::string> lines = warnings();
  if (lines.empty() && !other_.empty()) {
    lines.push_back(fmt::format("{} {} left out: each head has a folder of its own, l00h00q/data.parquet and so on",
                                first_and_more(other_), are(other_)));
  }
  return fmt::format("{}", fmt::join(lines, "; "));
}

}  // namespace attention_plasticity
