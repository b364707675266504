#!/usr/bin/env bash
# Builds a program that takes the libraries from a clone with FetchContent, without the page of the report and with an
# npm that fails, and runs it: fetch_content_test.sh SOURCE_DIR PYARROW CMAKE
set -euo pipefail
source_dir=$(realpath "$1")
pyarrow=$(realpath "$2")
cmake=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

mkdir "$scratch/clone"
git -C "$source_dir" ls-files -z | (cd "$source_dir" && xargs -0 cp --parents -t "$scratch/clone")
mkdir "$scratch/bin"
for tool in node npm npx; do
  printf '#!/bin/sh\necho "%s was called" >&2\nexit 1\n' "$tool" >"$scratch/bin/$tool"
  chmod +x "$scratch/bin/$tool"
done
export PATH=$scratch/bin:/usr/bin:/bin
# As cmake/CompilerCache.cmake does for the project by itself.
export CCACHE_BASEDIR=$scratch CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
"$cmake" -S "$scratch/clone/tests/install/fetch_content" -B "$scratch/build" -G Ninja -DCLONE="$scratch/clone" \
  -DAP_PYARROW="$pyarrow" -DCMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache || true)" >"$scratch/configure.log" || { tail -n 40 "$scratch/configure.log"; exit 1; }
"$cmake" --build "$scratch/build" >"$scratch/build.log" || { tail -n 40 "$scratch/build.log"; exit 1; }
cd "$scratch"
./build/arrays
./build/runs clone/examples/minidoc-qwen3
if find build -name page.html -size +0 | grep .; then echo "fetch_content_test: the page was built"; exit 1; fi
echo "fetch_content_test: passed"
