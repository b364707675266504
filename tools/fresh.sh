#!/usr/bin/env bash
# Proves that a new user can build and test the project: runs `make run` and `make test` on a clone of the committed
# tree in a bare Debian 12. Needs root for debootstrap and chroot; run it as `make fresh`.
set -euo pipefail
cd "$(dirname "$0")/.."
source_dir=$PWD
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)
system=${FRESH_DIR:-$(mktemp -d)}/debian
say() { printf 'fresh: %s\n' "$*" >&2; }

finish() {
  for mounted in proc dev/pts dev tmp/source; do
    if mountpoint -q "$system/$mounted"; then "${as_root[@]}" umount --lazy "$system/$mounted" || true; fi
  done
  # Nothing is deleted while a mount remains, because the files behind it would be deleted too.
  if ! grep -qF " $system/" /proc/mounts; then "${as_root[@]}" rm -rf "$(dirname "$system")"; fi
}
trap finish EXIT

# Use the mirror of this machine, because it can be reached from here.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Release: bookworm' 2>/dev/null | head -n 1)
say "bare Debian 12 in $system"
log=$(mktemp)
"${as_root[@]}" debootstrap --variant=minbase --include=ca-certificates,git,make bookworm "$system" ${mirror:+"$mirror"} >"$log" 2>&1 ||
  { tail -n 20 "$log" >&2; say "debootstrap failed; the whole log is $log"; exit 1; }
rm -f "$log"

# Copy how this machine reaches the package registries: name service, certificates, proxies.
for file in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
  [ ! -e "$file" ] || "${as_root[@]}" cp -L --remove-destination "$file" "$system$file"
done
apt-config dump | grep '^Acquire::' | "${as_root[@]}" tee "$system/etc/apt/apt.conf.d/99host" >/dev/null
"${as_root[@]}" mkdir -p "$system/tmp/source" "$system/dev/pts"
"${as_root[@]}" mount --bind "$source_dir" "$system/tmp/source"
"${as_root[@]}" mount --bind /dev "$system/dev"
"${as_root[@]}" mount --bind /dev/pts "$system/dev/pts"
"${as_root[@]}" mount -t proc proc "$system/proc"

keep=()
for variable in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY PIP_INDEX_URL PIP_CERT SSL_CERT_FILE; do
  [ -z "${!variable:-}" ] || keep+=("$variable=${!variable}")
done
say "git clone, make run, make test"
"${as_root[@]}" chroot "$system" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LANG=C.UTF-8 "${keep[@]}" bash -ec '
  git -c safe.directory="*" clone -q /tmp/source /tmp/attention-plasticity
  cd /tmp/attention-plasticity
  make run
  make test'
say "passed"
