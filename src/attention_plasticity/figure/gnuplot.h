#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace attention_plasticity {

/// The program that draws, and the environment variables that it gets, such as "HOME=/root".
struct Gnuplot {
  std::filesystem::path program;  ///< empty: not installed
  std::vector<std::string> environment = {};
};

struct GnuplotOutput {
  std::string image;
  std::vector<std::string> notes;  ///< lines that gnuplot wrote to standard error although it succeeded
};

/// Runs a script in a process of its own, without a shell and without the user's gnuplot settings. The script draws one
/// image to standard output. Throws Error(output), with gnuplot's own message, when gnuplot cannot be run or fails.
GnuplotOutput run_gnuplot(const Gnuplot& gnuplot, const std::string& script);

}  // namespace attention_plasticity
