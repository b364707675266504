#!/usr/bin/env bash
# Installs what a build needs on Debian 12, and skips what is installed already.
#
#   tools/setup.sh [build]  compiler, libraries, Arrow, Node: what `make build` needs
#   tools/setup.sh run      also gnuplot, which `make run` draws with
#   tools/setup.sh test     also GoogleTest, RapidCheck, libpng, zsh, fish, groff, pkg-config, ccache and the Python client
#                           of the Hub, for `make test`
#   tools/setup.sh python   what `make test-python`, `make wheel` and `make site` need: also Python's headers, and
#                           what unpacks a source package of Debian
#   tools/setup.sh check    also the formatter, the linter, clang with libFuzzer, the browser and Doxygen for
#                           `make check`
#   tools/setup.sh reference  what `make reference` needs: Doxygen
#   tools/setup.sh fuzz     what `make fuzz` needs: clang with libFuzzer
#   tools/setup.sh fresh    what `make fresh` needs: debootstrap
#   tools/setup.sh bench    what `make bench` and `bench-check` need: Google Benchmark, valgrind, NumPy, SciPy, pandas
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(ca-certificates cmake g++ git make ninja-build python3 python3-venv libcurl4-openssl-dev libfmt-dev libhwy-dev
          libssl-dev libyaml-cpp-dev nlohmann-json3-dev zlib1g-dev)
run_packages=(fonts-dejavu-core gnuplot-nox)
fuzz_packages=(clang-14 libclang-rt-14-dev)
test_packages=("${run_packages[@]}" ccache fish groff-base libgtest-dev libpng-dev librapidcheck-dev pkg-config zsh)
requirements=(arrow node)
case "${1:-build}" in
  build) ;;
  run) packages+=("${run_packages[@]}") ;;
  test) packages+=("${test_packages[@]}"); requirements+=(hub_test) ;;
  python) packages+=(dpkg-dev python3-dev) ;;
  check) packages+=("${test_packages[@]}" "${fuzz_packages[@]}" chromium doxygen); requirements+=(hub_test check) ;;
  reference) packages=(doxygen); requirements=() ;;
  fuzz) packages+=("${fuzz_packages[@]}") ;;
  fresh) packages=(debootstrap); requirements=() ;;
  bench) packages+=(libbenchmark-dev valgrind); requirements+=(bench) ;;
  *) echo "usage: tools/setup.sh [build|run|test|python|check|reference|fuzz|fresh|bench]" >&2; exit 2 ;;
esac

say() { printf 'setup: %s\n' "$*" >&2; }

system=$(. /etc/os-release 2>/dev/null && echo "${ID:-unknown} ${VERSION_ID:-}" || uname -s)
if [ "$system" != "debian 12" ]; then
  say "this is $system; the set-up knows Debian 12 only. Install by hand:"
  say "  a C++20 compiler (g++ 12 or newer), CMake 3.25 or newer, Ninja, Python 3 with venv"
  say "  fmt 9, Highway 1.0, yaml-cpp 0.7, nlohmann-json 3.11, zlib, libcurl 7.85, OpenSSL 3"
  say "  Node 22.18 or newer with npm, which builds the page of \`report\`"
  say "  gnuplot 5.4 with its cairo terminals and the font DejaVu Sans, which \`plot\` draws with"
  say "  Arrow C++ with Parquet (or: python3 -m venv .venv && .venv/bin/pip install pyarrow==22.0.0)"
  say "  GoogleTest 1.12, RapidCheck and libpng for the tests"
  say "then: cmake --preset release && cmake --build --preset release"
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  as_root=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { say "not root, and no sudo. As root: apt-get install ${missing[*]}"; exit 1; }
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  log=$(mktemp)
  if ! { "${as_root[@]}" apt-get update &&
         "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    say "apt-get failed; the whole log is $log"
    exit 1
  fi
  rm -f "$log"
fi

# The stamp of a requirements file is its checksum. Only files that have changed are installed again.
if [ ${#requirements[@]} -gt 0 ] && [ ! -x .venv/bin/pip ]; then
  say "making .venv"
  /usr/bin/python3 -m venv .venv
fi
for name in "${requirements[@]}"; do
  stamp=.venv/$name.stamp
  sum=$(sha256sum <"requirements/$name.txt")
  if [ "$(cat "$stamp" 2>/dev/null || true)" != "$sum" ]; then
    say "installing requirements/$name.txt into .venv"
    .venv/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r "requirements/$name.txt"
    printf '%s\n' "$sum" >"$stamp"
  fi
done
