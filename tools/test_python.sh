#!/usr/bin/env bash
# Builds the wheel of the Python package, installs it into a virtual environment that has nothing else of the project,
# and runs tests/python there: tools/test_python.sh [ARGUMENTS OF PYTEST]
#
#   tools/test_python.sh --wheel   makes dist/ instead: a source archive, and a wheel that other Linux systems can use
#
# PYTHON is the interpreter; python3 unless it says otherwise.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
name=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')

# environment NAME: makes build/NAME-pythonX.Y with the packages of requirements/NAME.txt, when these have changed.
environment() {
  local folder=build/$1-$name sum
  sum=$(sha256sum <"requirements/$1.txt")
  if [ "$(cat "$folder/stamp" 2>/dev/null || true)" != "$sum" ]; then
    echo "test_python: making $folder" >&2
    "$python" -m venv --clear "$folder"
    "$folder/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes -r "requirements/$1.txt"
    printf '%s\n' "$sum" >"$folder/stamp"
  fi
}

# quietly LOG COMMAND...: shows the end of the log when the command fails.
quietly() {
  local log=$1
  shift
  if ! "$@" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    echo "test_python: failed; the whole log is $log" >&2
    exit 1
  fi
}

mkdir -p build
environment python_build
bin=$PWD/build/python_build-$name/bin
export PATH=$bin:$PATH
wheels=build/wheel-$name
rm -rf "$wheels"
echo "test_python: building the wheel (log: build/wheel.log)" >&2
quietly build/wheel.log "$bin/python" -m pip wheel . --no-build-isolation --no-deps --wheel-dir "$wheels"

if [ "${1:-}" = --wheel ]; then
  mkdir -p dist
  tools/web_build.sh "$PWD/web/page.html"
  quietly build/sdist.log "$bin/python" -m build --no-isolation --sdist --outdir dist
  # Arrow comes with pyarrow, which the wheel depends on.
  quietly build/auditwheel.log env LD_LIBRARY_PATH="$("$bin/python" -c 'import os, pyarrow; print(os.path.dirname(pyarrow.__file__))')" \
    "$bin/auditwheel" repair --exclude 'libarrow.so.*' --exclude 'libparquet.so.*' --wheel-dir dist "$wheels"/*.whl
  ls -l dist
  exit 0
fi

environment python_test
test=$PWD/build/python_test-$name/bin
"$test/pip" uninstall --quiet --yes attention-plasticity 2>/dev/null || true
"$test/pip" install --quiet --disable-pip-version-check --no-deps "$wheels"/*.whl
"$test/pip" check
exec "$test/python" -m pytest -p no:cacheprovider "$@"
