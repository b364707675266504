#pragma once

#include <stdexcept>
#include <string>

namespace attention_plasticity {

/// What went wrong, and so who has to act. Each kind has its own exit code of the program.
enum class ErrorKind {
  usage,    ///< wrong use or configuration
  input,    ///< the input is missing or unusable
  access,   ///< the repository does not exist, or there is no access to it
  network,  ///< the network failed, a rate limit was met, or a checksum stays wrong
  output,   ///< the output could not be written
};

/// 2, 3, 4, 5, 6 in the order above.
int exit_code(ErrorKind kind);

/// The only type of failure: it ends a head or a run. `what()` is one plain line that says what happened, where in the
/// file, and what to do. `file()` is the file that it is about; empty if there is none.
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
