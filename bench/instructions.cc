// Runs every kernel on a small fixed input, under callgrind (tools/bench_check.sh). callgrind counts the instructions
// of the kernel alone and writes one dump for each kernel, named after it.

#include <valgrind/callgrind.h>

#include <cstdio>

#include "kernel_table.h"

int main() {
  // Ten times smaller than a usual head: large enough for the main part of every loop, and a minute under valgrind.
  for (const Kernel& kernel : kernel_table(2800, 64)) {
    // The first run resolves symbols and fills static tables.
    const double warm = kernel.run();
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_TOGGLE_COLLECT;
    const double result = kernel.run();
    CALLGRIND_TOGGLE_COLLECT;
    CALLGRIND_STOP_INSTRUMENTATION;
    CALLGRIND_DUMP_STATS_AT(kernel.name.c_str());
    std::printf("%s %.17g %.17g\n", kernel.name.c_str(), warm, result);
  }
}
