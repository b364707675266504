#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace attention_plasticity {

/// The names in a folder, ascending, without "." and "..". When the folder cannot be read, `error` says why and there
/// are none. Throws std::bad_alloc; std::filesystem::directory_iterator of libstdc++ 12 would end the program instead.
std::vector<std::string> folder_names(const std::filesystem::path& folder, std::error_code& error);

/// Removes a file, a link or a folder with everything in it. What is not there is no error. Otherwise as
/// std::filesystem::remove_all, which ends the program when it gets no memory.
void remove_tree(const std::filesystem::path& path, std::error_code& error);

}  // namespace attention_plasticity
