#include "attention_plasticity/cli/python.h"

#include <fmt/format.h>

#include "attention_plasticity/cli/machine.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

// The variable in which the entry point of the Python package hands over its interpreter.
constexpr const char* python_variable = "ATTENTION_PLASTICITY_PYTHON";

}  // namespace

std::string python_of_package(const std::string& what, const std::string& extra) {
  const auto python = environment_variable(python_variable);
  if (python && !python->empty()) return *python;
  throw Error(ErrorKind::usage,
              fmt::format("{} the Python package: pip install 'attention-plasticity[{}]', and start the "
                          "attention-plasticity that comes with it",
                          what, extra));
}

}  // namespace attention_plasticity
