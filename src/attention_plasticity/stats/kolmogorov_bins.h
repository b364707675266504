#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace attention_plasticity {

/// A sample whose values are given as 16-bit codes, with a function that gives any value exactly.
///
/// Codes are in the order of the values. Up to rounding, a value with code k lies between first_edge + k * step and
/// first_edge + (k + 1) * step; a value with the smallest or the largest code may lie beyond.
struct CodedSample {
  std::span<const std::uint16_t> codes;  ///< fewer than 2^32
  double first_edge;
  double step;  ///< > 0
  /// Writes the values at the given indices.
  std::function<void(std::span<const std::uint32_t> indices, std::span<double> values)> exact;
};

/// value * codes_per_unit + 32768, rounded down and clamped to 0..65535.
inline std::uint16_t code_of(double value, double codes_per_unit) {
  return static_cast<std::uint16_t>(std::clamp(value * codes_per_unit + 32768.0, 0.0, 65535.0));
}

/// sup |F_n - Phi|, the distance of the empirical distribution of standardised values from the standard normal, found
/// without sorting. 0 when there are no values.
///
/// Each bin holds a range of codes. The counts and Phi at the edges of a bin bound the distance inside it, and exact
/// values are asked for only in bins whose bound exceeds the distance at another edge. With codes a few thousandths of
/// a deviation wide that reach over most values, these are a few hundred values.
///
/// An object keeps its memory from sample to sample.
class KolmogorovBins {
 public:
  double distance(const CodedSample& sample);

 private:
  struct Candidate {
    std::uint32_t bin;
    std::uint32_t below;  // values in earlier bins
    std::uint32_t count;
    double above_normal;  // upper bound of F_n - Phi in the bin
    double below_normal;  // upper bound of Phi - F_n in the bin
    double largest() const { return std::max(above_normal, below_normal); }
  };

  void count(const CodedSample& sample);
  double least_distance() const;
  void find_candidates();
  void add_candidates(std::size_t coarse, double& least);
  void collect(std::span<const std::uint16_t> codes);
  void add_found(std::span<const std::uint16_t> codes, std::uint32_t first, std::uint32_t last);
  double largest_at_values() const;

  double n_ = 0;
  double share_ = 0;                    // 1 / n
  unsigned bits_ = 0;                   // a bin holds 2^bits_ codes
  std::vector<std::uint32_t> counts_;   // values in each bin
  double slack_ = 0;                    // worst error of a bound
  std::vector<double> normal_;          // Phi at the edges of coarse bins; 0 and 1 at the ends
  std::vector<std::uint32_t> below_;    // values before each coarse bin, and all of them at the end
  std::vector<Candidate> candidates_;   // bins that may hold the largest distance, ascending
  std::vector<char> is_candidate_;      // for each bin
  std::vector<std::uint32_t> found_;    // indices of the values in candidates
  std::vector<double> values_;          // those values, ascending
  std::vector<std::uint32_t> stretch_;  // indices of the values in a range of bins around candidates
};

}  // namespace attention_plasticity
