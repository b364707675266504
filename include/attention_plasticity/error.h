#pragma once

#include <stdexcept>
#include <string>

#include "attention_plasticity/export.h"

/// @file
/// The one type of failure.

namespace attention_plasticity {

/// What went wrong, and so who has to act. Each kind has its own exit code of the program.
enum class ErrorKind {
  usage,    ///< wrong use or configuration
  input,    ///< the input is missing or unusable
  access,   ///< the repository does not exist, or there is no access to it
  network,  ///< the network failed, a rate limit was met, or a checksum stays wrong
  output,   ///< the output could not be written
};

/// The exit code of the program: 2, 3, 4, 5, 6 in the order of ErrorKind. Throws nothing. Thread-safe.
AP_API int exit_code(ErrorKind kind);

/// A failure that ends a head or a run. `what()` is one plain line that says what happened, where in the file, and what
/// to do; it names configuration fields between backticks: `rope_theta`, or with a value `rope: none`. It holds no
/// control characters and no bytes that are not UTF-8, whatever a file or a server said: they are spelled out, as
/// `\x1b`.
class AP_API Error : public std::runtime_error {
 public:
  /// `file` is the file that the failure is about; empty: none.
  Error(ErrorKind kind, const std::string& message, std::string file = {});

  /// What went wrong. Thread-safe.
  ErrorKind kind() const { return kind_; }
  /// The file that the failure is about, byte for byte; empty if there is none. Thread-safe.
  const std::string& file() const { return file_; }

 private:
  ErrorKind kind_;
  std::string file_;
};

}  // namespace attention_plasticity
