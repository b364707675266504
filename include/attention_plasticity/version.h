#pragma once

#include <string>

#include "attention_plasticity/export.h"

/// @file
/// The version of the library that a program is compiled with, and of the one that it runs with.

// CONTRIBUTING.md says what a change of each number means.
#define AP_VERSION_MAJOR 0  ///< first number of the version of these headers
#define AP_VERSION_MINOR 1  ///< second number
#define AP_VERSION_PATCH 0  ///< third number

/// The version as one number that grows with it: 10000 major + 100 minor + patch.
#define AP_VERSION (AP_VERSION_MAJOR * 10000 + AP_VERSION_MINOR * 100 + AP_VERSION_PATCH)

namespace attention_plasticity {

/// The version of this library, as results name it.
struct ProgramVersion {
  std::string version;   ///< 1.2.3
  std::string commit;    ///< commit of the source tree, with "-dirty" if it had changes; "unknown" outside a repository
  std::string compiler;  ///< name and version
  std::string simd;      ///< instruction set of the kernels on this processor
};

/// The version of the library that is linked. Throws std::bad_alloc only. Thread-safe.
AP_API ProgramVersion program_version();

}  // namespace attention_plasticity
