#pragma once

#include <string>

namespace attention_plasticity {

/// The version of this program, for results.
struct ProgramVersion {
  std::string version;   ///< 1.2.3
  std::string commit;    ///< commit of the source tree, with "-dirty" if it had changes; "unknown" outside a repository
  std::string compiler;  ///< name and version
  std::string simd;      ///< instruction set of the kernels on this processor
};

ProgramVersion program_version();

}  // namespace attention_plasticity
