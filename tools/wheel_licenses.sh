#!/usr/bin/env bash
# Gathers the licences of what the wheel of `make wheel` carries from others, each from the package that was built with:
# tools/wheel_licenses.sh FOLDER PYTHON LIBCURL
#
# PYTHON has nanobind, and LIBCURL is what tools/small_libcurl.sh made.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:?usage: tools/wheel_licenses.sh FOLDER PYTHON LIBCURL}
python=${2:?usage: tools/wheel_licenses.sh FOLDER PYTHON LIBCURL}
libcurl=${3:?usage: tools/wheel_licenses.sh FOLDER PYTHON LIBCURL}
rm -rf "$folder"
mkdir -p "$folder"

# Debian's packages carry the licences of their sources.
for package in libfmt-dev libhwy-dev libssl-dev libyaml-cpp-dev nlohmann-json3-dev zlib1g-dev; do
  cp -L "/usr/share/doc/$package/copyright" "$folder/$package.txt"
done
cp "$libcurl/COPYING" "$folder/libcurl.txt"
"$python" - "$folder/nanobind.txt" <<'NANOBIND'
import sys
from importlib.metadata import files
(license,) = [file for file in files("nanobind") if file.name == "LICENSE"]
open(sys.argv[1], "w").write(license.read_text())
NANOBIND
cat web/node_modules/echarts/LICENSE web/node_modules/echarts/NOTICE >"$folder/echarts.txt"
cat web/node_modules/zrender/LICENSE >"$folder/zrender.txt"
