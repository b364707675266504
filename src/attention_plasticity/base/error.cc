#include "attention_plasticity/error.h"

#include <utility>

#include "attention_plasticity/base/address_secrets.h"
#include "attention_plasticity/base/printable.h"

namespace attention_plasticity {

Error::Error(ErrorKind kind, const std::string& message, std::string file)
    : std::runtime_error(printable_text(without_address_secrets(message))), kind_(kind), file_(std::move(file)) {}

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
      return 2;
    case ErrorKind::input:
      return 3;
    case ErrorKind::access:
      return 4;
    case ErrorKind::network:
      return 5;
    case ErrorKind::output:
      return 6;
  }
  return 3;
}

}  // namespace attention_plasticity
