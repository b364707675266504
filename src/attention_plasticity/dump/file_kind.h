#pragma once

namespace attention_plasticity {

class InputFile;

/// Checks by its first and last bytes that a file is Parquet. Throws Error(input) when it is not. There is a message
/// for each of: an empty file, a Git LFS pointer, an HTML page, a file compressed by gzip or a program like it, an
/// encrypted Parquet file, a truncated one, other files.
void require_parquet(const InputFile& source);

}  // namespace attention_plasticity
