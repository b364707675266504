#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace attention_plasticity {

/// Hands the texts of a column of a Parquet file to `sink`, in order, nothing for a null, until they end or the sink
/// returns false. Texts are handed over as they are stored, which need not be UTF-8. Throws Error(input) for a file
/// that cannot be read, and for a column that is missing or holds no text. An Error of the sink passes through.
void read_text_column(const std::filesystem::path& file, const std::string& name,
                      const std::function<bool(std::optional<std::string_view>)>& sink);

}  // namespace attention_plasticity
