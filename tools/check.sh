#!/usr/bin/env bash
# Checks formatting, runs the tests under sanitizers, fuzzes each parser for a minute, and lints; stops at the first finding.
# Run it as `make check`.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=$(nproc)

mapfile -t sources < <(git ls-files -- '*.h' '*.cc')
echo "check: formatting of ${#sources[@]} files" >&2
.venv/bin/clang-format --dry-run --Werror "${sources[@]}"

echo "check: API reference" >&2
tools/reference.sh >/dev/null

echo "check: FetchContent" >&2
tests/fetch_content_test.sh "$PWD" "$(echo .venv/lib/python3*/site-packages/pyarrow)" cmake

tools/build.sh asan-ubsan
ctest --preset asan-ubsan --parallel "$jobs"

tools/build.sh tsan
ctest --preset tsan --parallel "$jobs"

tools/fuzz.sh --seconds 60 --jobs "$jobs"

echo "check: clang-tidy" >&2
llama=$(tools/llama.sh)
cmake --preset tidy -DAP_CAPTURE=ON -Ullama_LIBRARY "-Dllama_DIR=$llama/lib/cmake/llama" "-Dggml_DIR=$llama/lib/cmake/ggml" >build/tidy.log 2>&1 || { tail -n 20 build/tidy.log >&2; exit 1; }
.venv/bin/python tools/tidy.py
tools/web_test.sh
echo "check: passed" >&2
