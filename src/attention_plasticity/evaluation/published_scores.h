#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Scores of heads in the two layouts that the literature uses: a matrix of layers by KV heads, as in DuoAttention's
// full_attention_heads.tsv (Xiao et al. 2024), and a JSON object {"layer-head": [scores...]}, as for the retrieval
// heads of Wu et al. (2024).

namespace attention_plasticity {

/// Whether a text is a matrix: its first line that is neither empty nor a comment (#) holds only numbers, separated by
/// tabs.
bool is_score_matrix(std::string_view text);

/// The rows of a matrix; a field `nan` is NaN. Lines that are empty or begin with # are skipped. Throws Error(input),
/// naming the line, for a field that is not a number and for rows of different lengths.
std::vector<std::vector<double>> parse_score_matrix(std::string_view text, const std::string& file);

/// A head of the JSON object. Its score is the mean of its list.
struct PublishedScore {
  int layer = 0;
  int head = 0;
  double score = 0;
};

/// The heads of the JSON object, sorted by layer and head. Throws Error(input), naming the key, for a key other than
/// "layer-head" and for a value other than a list of numbers. Throws Error(input) for an object without heads.
std::vector<PublishedScore> parse_score_object(std::string_view text, const std::string& file);

}  // namespace attention_plasticity
