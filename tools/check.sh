#!/usr/bin/env bash
# Checks formatting, lints, runs the tests under sanitizers, and fuzzes each parser for a minute; stops at the first finding.
# Run it as `make check`. tools/check.sh --ahead does only what compiles and lints, after which the rest has nothing left to
# compile: `.ci/run` does that beside tests that leave a core idle.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=$(nproc)
case "${1:-}" in
  ""|--ahead) ;;
  *) echo "usage: tools/check.sh [--ahead]" >&2; exit 2 ;;
esac

mapfile -t sources < <(git ls-files -- '*.h' '*.cc')
echo "check: formatting of ${#sources[@]} files" >&2
.venv/bin/clang-format --dry-run --Werror "${sources[@]}"

echo "check: includes between modules" >&2
python3 tools/check_includes.py

echo "check: API reference" >&2
tools/reference.sh >/dev/null

tools/build.sh asan-ubsan
tools/build.sh tsan
tools/fuzz.sh --seconds 0

echo "check: clang-tidy" >&2
llama=$(tools/llama.sh)
cmake --preset tidy -DAP_CAPTURE=ON -Ullama_LIBRARY "-Dllama_DIR=$llama/lib/cmake/llama" "-Dggml_DIR=$llama/lib/cmake/ggml" >build/tidy.log 2>&1 || { tail -n 20 build/tidy.log >&2; exit 1; }
.venv/bin/python tools/tidy.py
if [ "${1:-}" = --ahead ]; then
  exit
fi

echo "check: FetchContent" >&2
tests/fetch_content_test.sh "$PWD" "$(echo .venv/lib/python3*/site-packages/pyarrow)" cmake

ctest --preset asan-ubsan --parallel "$jobs"
ctest --preset tsan --parallel "$jobs"
tools/fuzz.sh --seconds 60 --jobs "$jobs"
tools/web_test.sh
echo "check: passed" >&2
