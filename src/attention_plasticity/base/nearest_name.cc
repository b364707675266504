#include "attention_plasticity/base/nearest_name.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "attention_plasticity/base/text.h"

namespace attention_plasticity {
namespace {

std::string folded(std::string_view name) {
  std::string result = lower_case(name);
  std::ranges::replace(result, '-', '_');
  return result;
}

std::size_t length_difference(std::string_view a, std::string_view b) {
  return std::max(a.size(), b.size()) - std::min(a.size(), b.size());
}

}  // namespace

std::size_t edit_distance(std::string_view first, std::string_view second) {
  const std::string a = folded(first);
  const std::string b = folded(second);
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::optional<std::string> nearest_name(std::string_view given, std::span<const std::string_view> known) {
  std::optional<std::string> nearest;
  std::size_t least = 0;
  for (const std::string_view name : known) {
    const std::size_t reach = std::max<std::size_t>(1, std::max(given.size(), name.size()) / 3);
    // Without this, a hostile key of a megabyte would cost a megabyte of work for each letter of each known name.
    if (length_difference(given, name) > reach) continue;
    const std::size_t distance = edit_distance(given, name);
    if (distance > reach || (nearest && distance >= least)) continue;
    nearest = name;
    least = distance;
  }
  return nearest;
}

}  // namespace attention_plasticity
