#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "attention_plasticity/synth/synthetic_dump.h"

// What the tests of failing calls share: a dump that is analysed in a moment, and what a reader sees of its results.

namespace attention_plasticity {

/// A dump of 10 heads: `layers` layers, 1 or 2, with one key head each.
SynthOptions ten_heads(int layers);

using Digests = std::map<std::string, std::string>;  ///< of the tables in a folder, by name

/// What a reader sees: names that lead to no file are not there.
Digests tables_in(const std::filesystem::path& folder);

/// What run.json says of them.
Digests tables_of_run_json(const std::filesystem::path& folder);

}  // namespace attention_plasticity
