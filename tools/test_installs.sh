#!/usr/bin/env bash
# Installs the Python package from its sources as a user does, each time in a new virtual environment with nothing else in it
# and with build isolation, and uses it there: tools/test_installs.sh [folder|archive]
#
#   folder   pip install of a copy of the tracked files, which has no .venv: Node comes with the build
#   archive  pip install of the source archive that `python -m build` makes of such a copy
#
# Both unless one is named; each compiles everything, outside of the project. PYTHON is the interpreter; python3 unless it says
# otherwise. Needs what `tools/setup.sh python` installs, and the package registries.
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
copy=$work/attention-plasticity
mkdir "$copy"
git ls-files -z | tar --create --null --files-from - | tar --extract --directory "$copy"
[ "${1:-}" = archive ] || installed folder "$copy"
if [ "${1:-}" != folder ]; then
  "$python" -m venv "$work/builder"
  "$work/builder/bin/pip" install --quiet --disable-pip-version-check build
  (cd "$copy" && "$work/builder/bin/python" -m build --sdist --outdir "$work/dist") >build/sdist.log 2>&1 ||
    { tail -n 40 build/sdist.log >&2; echo "test_installs: failed; the whole log is $project/build/sdist.log" >&2; exit 1; }
  tar -tf "$work"/dist/*.tar.gz | grep '/web/page.html$' >/dev/null
  installed archive "$(echo "$work"/dist/*.tar.gz)"
fi
echo "test_installs: passed" >&2
