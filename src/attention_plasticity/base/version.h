#pragma once

#include <string>

namespace attention_plasticity {

/// Which program wrote a result.
struct ProgramVersion {
  std::string version;   ///< 1.2.3
  std::string commit;    ///< of the source tree, "-dirty" if it had changes; "unknown" outside a repository
  std::string compiler;  ///< name and version
  std::string simd;      ///< instruction set of the numeric kernels
};

ProgramVersion program_version();

}  // namespace attention_plasticity
