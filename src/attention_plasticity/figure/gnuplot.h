#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace attention_plasticity {

/// The program that draws, and what it may know of its surroundings: "HOME=/root".
struct Gnuplot {
  std::filesystem::path program;  ///< empty: not installed
  std::vector<std::string> environment = {};
};

struct GnuplotOutput {
  std::string image;
  std::vector<std::string> notes;  ///< lines that it said on standard error, though it ended well
};

/// Runs a script in a process of its own, without a shell, with the user's gnuplot settings left aside. The script
/// draws one image to standard output. Throws Error(output), with gnuplot's own words, when it cannot be run or fails.
GnuplotOutput run_gnuplot(const Gnuplot& gnuplot, const std::string& script);

}  // namespace attention_plasticity
