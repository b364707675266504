#!/usr/bin/env bash
# Builds the release and the programs of bench/, which go to build/release/bench: tools/build_bench.sh
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build
# The option stays in the build folder's cache.
log=build/bench_configure.log
cmake --preset release -DAP_BUILD_BENCH=ON >"$log" 2>&1 ||
  { tail -n 20 "$log" >&2; echo "bench: failed; the whole log is $log" >&2; exit 1; }
tools/build.sh release bench_programs
