#!/usr/bin/env bash
# Builds the program and runs tests/stores, beside an S3 server on loopback: tools/test_stores.sh [ARGUMENTS OF PYTEST]
#
#   tools/test_stores.sh --set-up   makes the environment, build/store_test-pythonX.Y, and stops
#   tools/test_stores.sh --bench    measures what latency costs instead (bench/store_latency.py)
#
# PYTHON is the interpreter of the server and the tests; python3 unless it says otherwise. AP_PROGRAM names a program that
# is built already.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/environment.sh
environment store_test
[ "${1:-}" != --set-up ] || exit 0
if [ -z "${AP_PROGRAM:-}" ]; then tools/build.sh release attention-plasticity; fi
if [ "${1:-}" = --bench ]; then
  shift
  exec "build/store_test-$name/bin/python" bench/store_latency.py "$@"
fi
exec "build/store_test-$name/bin/python" -m pytest -q -p no:cacheprovider --show-capture=no "${@:-tests/stores}"
