#!/usr/bin/env bash
# Counts the instructions of every kernel with callgrind; the count does not depend on how busy the machine is. Fails
# when a count is more than 10 % above bench/instructions.txt: tools/bench_check.sh [--update], or `make bench-check`.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/build.sh bench
counts=build/bench/callgrind
rm -rf "$counts"
mkdir -p "$counts"
# valgrind does not know AVX-512, which Arrow would choose by itself.
if ! ARROW_USER_SIMD_LEVEL=AVX2 valgrind --tool=callgrind --instr-atstart=no --collect-atstart=no \
    --callgrind-out-file="$counts/out" build/release/instructions >build/bench/callgrind.log 2>&1; then
  tail -n 20 build/bench/callgrind.log >&2
  echo "bench-check: valgrind failed; the whole log is build/bench/callgrind.log" >&2
  exit 1
fi
/usr/bin/python3 bench/compare_instructions.py "$counts" bench/instructions.txt "$@"
