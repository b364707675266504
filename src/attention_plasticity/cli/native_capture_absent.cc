#include "attention_plasticity/cli/native_capture.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

[[noreturn]] void refuse() { throw Error(ErrorKind::usage, "this program was built without libllama"); }

}  // namespace

bool has_native_capture() { return false; }

int run_native_capture(const Arguments& /*unused*/) { refuse(); }

int run_native_study(const Arguments& /*unused*/) { refuse(); }

}  // namespace attention_plasticity
