#include "attention_plasticity/error.h"

namespace attention_plasticity {

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
