#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace attention_plasticity {

/// A sample of which all values are at hand as codes, which never fall as values grow, and any value exactly when asked
/// for. Up to rounding, a value with code k lies between edges k and k + 1, edge k being at first_edge + k * step;
/// values with the first or the last code may lie beyond.
struct CodedSample {
  std::span<const std::uint16_t> codes;  ///< less than 2^32
  double first_edge;
  double step;  ///< > 0
  /// Writes the values at the given indices.
  std::function<void(std::span<const std::uint32_t> indices, std::span<double> values)> exact;
};

/// value * codes_per_unit + 32768, cut to a whole number and to the ends of its type.
inline std::uint16_t code_of(double value, double codes_per_unit) {
  return static_cast<std::uint16_t>(std::clamp(value * codes_per_unit + 32768.0, 0.0, 65535.0));
}

/// sup |F_n - Phi|, the distance of the empirical distribution of standardised values from the standard normal, found
/// without sorting. 0 when there are no values.
///
/// Values are counted into cells of some codes each. The counts and Phi at the edges of a cell bound the distance
/// inside of it, and only where that bound beats the distance at another edge are exact values asked for: a few
/// hundred, where codes are a few thousandths wide and reach over most values. An object keeps its memory from sample
/// to sample.
class KolmogorovCells {
 public:
  double distance(const CodedSample& sample);

 private:
  struct Candidate {
    std::uint32_t cell;
    std::uint32_t below;  // values in earlier cells
    std::uint32_t count;
    double above_normal;  // no value in the cell has F_n - Phi larger than this,
    double below_normal;  // or Phi - F_n larger than this
    double largest() const { return std::max(above_normal, below_normal); }
  };

  void count(const CodedSample& sample);
  double least_distance() const;
  void find_candidates();
  template <class Count>
  void add_candidates(const std::vector<Count>& counts, std::size_t coarse, double& least);
  void collect(std::span<const std::uint16_t> codes);
  void add_found(std::span<const std::uint16_t> codes, std::uint32_t first, std::uint32_t last);
  double largest_at_values() const;

  double n_ = 0;
  double share_ = 0;                         // of one value among all
  unsigned bits_ = 0;                        // of a code that tell codes of one cell apart
  bool is_narrow_ = false;                   // the counts of all cells fit into bytes
  std::vector<std::uint8_t> narrow_counts_;  // of each cell, if so: most of them stay in the first cache
  std::vector<std::uint32_t> counts_;        // of each cell, if not
  std::vector<std::uint64_t> eights_;        // sums of eight counts
  double slack_ = 0;                         // what bounds may be off by
  std::vector<double> normal_;               // Phi at the edges of coarse cells; 0 and 1 at the ends
  std::vector<std::uint32_t> below_;         // values before each coarse cell, and all
  std::vector<Candidate> candidates_;        // cells that may hold the largest distance, ascending
  std::vector<char> is_candidate_;           // of each cell
  std::vector<std::uint32_t> found_;         // indices of the values in candidates
  std::vector<double> values_;               // those values, ascending
  std::vector<std::uint32_t> stretch_;       // indices of the values in a stretch of cells around candidates
};

}  // namespace attention_plasticity
