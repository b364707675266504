#!/usr/bin/env bash
# Builds the program and those of bench/, and measures, with dumps and results below build/bench: tools/bench.sh [OPTION...],
# or `make bench`.
# `tools/bench.sh --help` lists the options; docs/performance.md explains the columns.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/build.sh bench
/usr/bin/python3 bench/bench.py "$@"
