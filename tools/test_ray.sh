#!/usr/bin/env bash
# Installs the wheel of the Python package with Ray and runs tests/ray there, on clusters of this machine:
# tools/test_ray.sh [ARGUMENTS OF PYTEST]
#
#   tools/test_ray.sh --set-up    makes the environment, build/ray_test-pythonX.Y, and stops
#   tools/test_ray.sh --bench     measures what the engine costs instead (bench/ray_overhead.py)
#
# PYTHON is the interpreter; python3 unless it says otherwise. WHEEL is a wheel to install instead of building one.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/environment.sh
bin=$PWD/build/ray_test-$name/bin

environment ray_test
[ "${1:-}" != --set-up ] || exit 0

install_wheel ray_test

# Ray tells nobody what runs here, looks for no newer version and leaves the output to us.
export RAY_USAGE_STATS_ENABLED=0 RAY_AUTH_MODE=disabled RAY_DISABLE_IMPORT_WARNING=1 RAY_SCHEDULER_EVENTS=0 RAY_DEDUP_LOGS=0
unset RAY_ADDRESS
if [ "${1:-}" = --bench ]; then
  shift
  exec "$bin/python" bench/ray_overhead.py "$@"
fi
exec "$bin/python" -m pytest -p no:cacheprovider -c /dev/null --rootdir tests/ray -q tests/ray "$@"
