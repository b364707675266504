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
source tools/environment.sh
bin=$PWD/build/capture_test-$name/bin

# torch links the libraries of CUDA, which take gigabytes and which a CPU never calls. An empty library stands for each of
# them, and libno_cuda.so has their functions: all say that there is no device.
finish_capture_test() {
  local lib missing source
  lib=$(echo "$1"/lib/python3*/site-packages/torch/lib)
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

environment capture_test example_model
[ "${1:-}" != --set-up ] || exit 0

install_wheel capture_test

# Virtual machines may announce AMX, which torch then takes for bfloat16, and end the process that uses it.
export ONEDNN_MAX_CPU_ISA=AVX2
# Nothing is fetched while tests run.
export HF_HUB_OFFLINE=1
if [ "${1:-}" = --example ]; then
  exec "$bin/python" examples/model_to_report.py
fi
export PYTHONPATH=$PWD/tests/shared
exec "$bin/python" -m pytest -p no:cacheprovider -c /dev/null --rootdir tests/capture -q tests/capture "$@"
