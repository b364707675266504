#pragma once

#include <filesystem>

namespace attention_plasticity {

/// Expects that two folders hold the results of the same run: all tables by their bytes, run.json but for `resources`.
/// Both must have been written to the same `output_dir`.
void expect_same_results(const std::filesystem::path& one, const std::filesystem::path& other);

/// Drops an example from the files of every other head of a dump, so that heads hold different documents.
void give_other_documents(const std::filesystem::path& dump);

}  // namespace attention_plasticity
