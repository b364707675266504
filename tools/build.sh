#!/usr/bin/env bash
# Configures and builds one preset, quietly: tools/build.sh PRESET [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift
log=build/$preset.log
mkdir -p build
run() {
  if ! "$@" >>"$log" 2>&1; then
    grep -nE 'error|FAILED|undefined reference' "$log" | head -n 40 >&2 || true
    tail -n 30 "$log" >&2
    echo "build: failed; the whole log is $log" >&2
    exit 1
  fi
}
echo "build: $preset (log: $log)" >&2
: >"$log"
run cmake --preset "$preset"
targets=()
[ $# -eq 0 ] || targets=(--target "$@")
run cmake --build --preset "$preset" "${targets[@]}"
