#!/usr/bin/env bash
# Makes the API reference of the public headers, and fails when a part of them is not documented.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build/reference
doxygen docs/Doxyfile
echo "build/reference/html/index.html"
