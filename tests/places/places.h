#pragma once

#include <filesystem>
#include <string>

namespace attention_plasticity {

// Where the sources lie and what was built of them. The paths are linked in and not compiled in, so that the objects of
// tests are the same in every clone of the project, and a cache of objects serves them all.

std::filesystem::path source_folder();
/// The program, attention-plasticity.
std::string built_program();
/// The program of tests/ that writes a small capture.
std::string capture_program();
/// The libraries of tests/ that make input or output calls fail.
std::string input_faults_library();
std::string output_faults_library();

}  // namespace attention_plasticity
