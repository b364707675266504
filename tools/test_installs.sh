#!/usr/bin/env bash
# Installs the Python package from its sources as a user does, each time in a new virtual environment with nothing else in it
# and with build isolation, and uses it there: tools/test_installs.sh [folder|archive]
#
#   folder   pip install .
#   archive  pip install of the source archive, in a folder outside of the project
#
# Both unless one is named; each compiles everything. PYTHON is the interpreter; python3 unless it says otherwise. Needs what
# `tools/setup.sh python` installs, and the package registry.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
project=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# installed NAME SOURCE: pip install of SOURCE in a new environment, from a folder that has nothing to do with the project.
installed() {
  local environment=$work/$1 log=$project/build/install-$1.log
  mkdir -p build
  echo "test_installs: pip install of the $1 (log: $log)" >&2
  "$python" -m venv "$environment"
  if ! (cd "$work" && "$environment/bin/pip" install --verbose --disable-pip-version-check "$2") >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    echo "test_installs: failed; the whole log is $log" >&2
    exit 1
  fi
  "$environment/bin/pip" --disable-pip-version-check check
  (cd "$work" && "$environment/bin/python" "$project/tests/python/use_installed.py" "$project/examples/minidoc-qwen3")
}

case "${1:-}" in folder | archive | '') ;; *) echo "usage: tools/test_installs.sh [folder|archive]" >&2; exit 2 ;; esac
[ "${1:-}" = archive ] || installed folder "$project"
if [ "${1:-}" != folder ]; then
  tools/test_python.sh --archive
  installed archive "$(ls dist/*.tar.gz | sed "s|^|$project/|")"
fi
echo "test_installs: passed" >&2
