#!/usr/bin/env bash
# Proves that a new user can build, test and install the project: runs `make run`, `make test`, `make wheel` and `make
# test-installs` on a clone of the committed tree in a bare Debian 12, and uses the wheel in another one that has only
# python3-venv. Needs root for debootstrap and chroot; run it as `make fresh`.
#
#   tools/fresh.sh wheel   proves the wheel in dist/ alone
set -euo pipefail
cd "$(dirname "$0")/.."
source_dir=$PWD
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)
work=${FRESH_DIR:-$(mktemp -d)}
systems=()
say() { printf 'fresh: %s\n' "$*" >&2; }

finish() {
  for system in "${systems[@]}"; do
    for mounted in proc dev/pts dev tmp/source; do
      if mountpoint -q "$system/$mounted"; then "${as_root[@]}" umount --lazy "$system/$mounted" || true; fi
    done
    # Nothing is deleted while a mount remains, because the files behind it would be deleted too.
    if ! grep -qF " $system/" /proc/mounts; then "${as_root[@]}" rm -rf "$system"; fi
  done
  rmdir "$work" 2>/dev/null || true
}
trap finish EXIT

# Use the mirror of this machine, because it can be reached from here.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Release: bookworm' 2>/dev/null | head -n 1)

# bare NAME PACKAGES: a Debian 12 with these packages alone, and this clone in /tmp/source.
bare() {
  system=$work/$1
  systems+=("$system")
  say "bare Debian 12 with $2 in $system"
  local log
  log=$(mktemp)
  "${as_root[@]}" debootstrap --variant=minbase --include="$2" bookworm "$system" ${mirror:+"$mirror"} >"$log" 2>&1 ||
    { tail -n 20 "$log" >&2; say "debootstrap failed; the whole log is $log"; exit 1; }
  rm -f "$log"
  # Copy how this machine reaches the package registries: name service, certificates, proxies.
  for file in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
    [ ! -e "$file" ] || "${as_root[@]}" install -D -m 644 "$(readlink -f "$file")" "$system$file"
  done
  apt-config dump | grep '^Acquire::' | "${as_root[@]}" tee "$system/etc/apt/apt.conf.d/99host" >/dev/null
  "${as_root[@]}" mkdir -p "$system/tmp/source" "$system/dev/pts"
  "${as_root[@]}" mount --bind "$source_dir" "$system/tmp/source"
  "${as_root[@]}" mount --bind /dev "$system/dev"
  "${as_root[@]}" mount --bind /dev/pts "$system/dev/pts"
  "${as_root[@]}" mount -t proc proc "$system/proc"
}

keep=()
for variable in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY PIP_INDEX_URL PIP_CERT SSL_CERT_FILE; do
  [ -z "${!variable:-}" ] || keep+=("$variable=${!variable}")
done
# inside COMMANDS: in the latest bare system.
inside() {
  "${as_root[@]}" chroot "$system" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LANG=C.UTF-8 "${keep[@]}" bash -ec "$1"
}

wheels=$source_dir/dist
if [ "${1:-}" != wheel ]; then
  bare build ca-certificates,git,make
  say "git clone, make run, make test, make wheel, make test-installs"
  inside '
    git -c safe.directory="*" clone -q /tmp/source /tmp/attention-plasticity
    cd /tmp/attention-plasticity
    make run
    make test
    make wheel
    make test-installs'
  wheels=$system/tmp/attention-plasticity/dist
fi

bare user python3-venv
"${as_root[@]}" mkdir "$system/tmp/wheel"
"${as_root[@]}" cp "$wheels"/*.whl "$system/tmp/wheel"
say "pip install of the wheel, the program, the package"
inside '
  if command -v gcc; then exit 1; fi
  python3 -m venv /tmp/env
  wheel=$(echo /tmp/wheel/*.whl)
  /tmp/env/bin/pip install --quiet --disable-pip-version-check "$wheel[figures]"
  cd /tmp
  /tmp/env/bin/python /tmp/source/tests/python/use_installed.py /tmp/source/examples/minidoc-qwen3'
say "passed"
