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
# The program with libllama takes one that CMake finds on this machine (CMAKE_PREFIX_PATH may say where), or else the pinned
# one, which is built once.
has_llama() {
  mkdir -p build/find-llama
  printf 'cmake_minimum_required(VERSION 3.25)\nproject(find_llama)\nfind_package(llama REQUIRED)\n' >build/find-llama/CMakeLists.txt
  cmake --fresh -S build/find-llama -B build/find-llama/build -G Ninja >>"$log" 2>&1
}
options=()
if [ "$preset" = capture ]; then
  if has_llama; then
    options=(-Ullama_DIR -Uggml_DIR -Ullama_LIBRARY)
  else
    llama=$(tools/llama.sh)
    options=(-Ullama_LIBRARY "-Dllama_DIR=$llama/lib/cmake/llama" "-Dggml_DIR=$llama/lib/cmake/ggml")
  fi
fi
run cmake --preset "$preset" "${options[@]}"
targets=()
[ $# -eq 0 ] || targets=(--target "$@")
run cmake --build --preset "$preset" "${targets[@]}"
