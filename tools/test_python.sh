#!/usr/bin/env bash
# Builds the wheel of the Python package, installs it into a virtual environment that has nothing else of the project,
# and runs tests/python there: tools/test_python.sh [ARGUMENTS OF PYTEST]
#
#   tools/test_python.sh --set-up   makes the environments, build/python_build-pythonX.Y and build/python_test-pythonX.Y
#   tools/test_python.sh --only-wheel   makes build/wheel-pythonX.Y and stops
#   tools/test_python.sh --asan [ARGUMENTS OF PYTEST]   the same with AddressSanitizer and UndefinedBehaviorSanitizer
#   tools/test_python.sh --wheel   makes dist/ instead: a source archive, and a wheel that other Linux systems can use
#
# PYTHON is the interpreter; python3 unless it says otherwise. The libraries are compiled in the folder of the preset
# `release` or `asan-ubsan`, whose objects are used where `make test` or `make check` has made them already.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/environment.sh

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

restore_configuration() {
  rm -f "$configuration"
  [ ! -e "$configuration.before" ] || mv "$configuration.before" "$configuration"
}

# build_wheel FOLDER SETTING...: the wheel, built in a folder of CMake, which gets its own configuration back afterwards.
build_wheel() {
  local folder=$1 settings=()
  shift
  for setting in "build-dir=$folder" "$@"; do settings+=(--config-settings "$setting"); done
  rm -rf "$wheels"
  mkdir -p "$folder"
  configuration=$folder/CMakeCache.txt
  [ ! -e "$configuration" ] || cp -p "$configuration" "$configuration.before"
  trap restore_configuration EXIT
  echo "test_python: building the wheel in $folder (log: build/wheel.log)" >&2
  quietly build/wheel.log "$bin/python" -m pip wheel . --no-build-isolation --no-deps --wheel-dir "$wheels" "${settings[@]}"
  restore_configuration
  trap - EXIT
}

# make_wheel: dist/, with what other systems lack: a small libcurl is part of it, and OpenSSL goes along.
make_wheel() {
  rm -rf dist
  quietly build/sdist.log "$bin/python" -m build --no-isolation --sdist --outdir dist
  quietly build/libcurl.log tools/small_libcurl.sh build/libcurl
  tools/wheel_licenses.sh licenses/wheel "$bin/python" build/libcurl
  build_wheel build/python "cmake.define.CURL_DIR=$PWD/build/libcurl/lib/cmake/CURL"
  # Arrow comes with pyarrow, which the wheel depends on.
  quietly build/auditwheel.log env LD_LIBRARY_PATH="$("$bin/python" -c 'import os, pyarrow; print(os.path.dirname(pyarrow.__file__))')" \
    "$bin/auditwheel" repair --exclude 'libarrow.so.*' --exclude 'libparquet.so.*' --wheel-dir dist "$wheels"/*.whl
  rm -rf licenses/wheel
  ls -l dist
}

mkdir -p build
environment python_build
bin=$PWD/build/python_build-$name/bin
export PATH=$bin:$PATH
# The compiler of the presets, whose folders are shared, rather than the one that this Python was built with.
export CXX=${CXX:-c++}
wheels=build/wheel-$name
# The Arrow that the other builds take, where they have one: with the same headers, objects are the same.
same_arrow=()
for folder in "$PWD"/.venv/lib/python3*/site-packages/pyarrow; do
  [ ! -d "$folder" ] || same_arrow=("cmake.define.AP_PYARROW=$folder")
done

case "${1:-}" in
  --set-up)
    environment python_test
    exit 0 ;;
  --wheel)
    make_wheel
    exit 0 ;;
  --only-wheel)
    build_wheel build/release "${same_arrow[@]}"
    exit 0 ;;
  --asan)
    shift
    quietly build/asan-ubsan.log cmake --preset asan-ubsan
    build_wheel build/asan-ubsan cmake.build-type=Debug install.strip=false "${same_arrow[@]}"
    # The interpreter is not sanitized, so the library of the sanitizer comes first. Its own leaks, and those of other
    # packages, are recognized by the innermost frames; ours have frames of our modules there.
    export LD_PRELOAD="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libstdc++.so)"
    export PYTHONMALLOC=malloc ARROW_DEFAULT_MEMORY_POOL=system UBSAN_OPTIONS=print_stacktrace=1
    export ASAN_OPTIONS=malloc_context_size=4:allocator_may_return_null=1 AP_SANITIZED=1
    export LSAN_OPTIONS=suppressions=$PWD/tests/python/leaks.txt:print_suppressions=0 ;;
  *)
    build_wheel build/release "${same_arrow[@]}" ;;
esac

(
  unset LD_PRELOAD
  environment python_test
  WHEEL=$(ls "$wheels"/*.whl) install_wheel python_test
  "build/python_test-$name/bin/pip" check
)
exec "$PWD/build/python_test-$name/bin/python" -m pytest -p no:cacheprovider "$@"
