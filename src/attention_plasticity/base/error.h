#pragma once

#include <stdexcept>
#include <string>

namespace attention_plasticity {

/// Who has to act on a failure. Each kind has one exit code of the program.
enum class ErrorKind {
  usage,    ///< wrong use or configuration
  input,    ///< the input is missing or unusable
  access,   ///< no such repository, or no access to it
  network,  ///< the network, a rate limit, a checksum that stays wrong
  output,   ///< the output could not be written
};

/// 2, 3, 4, 5, 6 in the order above.
int exit_code(ErrorKind kind);

/// The one failure type: it ends a head or a run. `what()` is one plain line that says what happened, where in the
/// file, and what to do; `file()` is the file at fault, empty when there is none.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, std::string file = {})
      : std::runtime_error(message), kind_(kind), file_(std::move(file)) {}

  ErrorKind kind() const { return kind_; }
  const std::string& file() const { return file_; }

 private:
  ErrorKind kind_;
  std::string file_;
};

}  // namespace attention_plasticity
