#!/usr/bin/env bash
# Builds libllama (once) and the program with it, and runs tests/llama against it: tools/test_llama.sh [ARGUMENTS OF PYTEST]
#
#   tools/test_llama.sh --set-up   makes the environment, build/llama_test-pythonX.Y, and stops
#
# PYTHON is the interpreter; python3 unless it says otherwise. AP_PROGRAM is a program to test instead of building one.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/environment.sh
bin=$PWD/build/llama_test-$name/bin

environment llama_test example_model
[ "${1:-}" != --set-up ] || exit 0

if [ -z "${AP_PROGRAM:-}" ]; then
  tools/build.sh capture attention-plasticity
  AP_PROGRAM=$PWD/build/release/attention-plasticity
fi
export AP_PROGRAM
export PYTHONPATH=$PWD/tests/shared
exec "$bin/python" -m pytest -p no:cacheprovider -c /dev/null --rootdir tests/llama -q tests/llama "$@"
