#pragma once

#include <string>

namespace attention_plasticity {

/// The interpreter of the Python package that this program comes with and was started by. Throws Error(usage) when
/// there is none: `what` ("--engine ray takes") begins its sentence, and the package is installed with `extra`.
std::string python_of_package(const std::string& what, const std::string& extra);

}  // namespace attention_plasticity
