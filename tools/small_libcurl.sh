#!/usr/bin/env bash
# Builds the libcurl of the wheel, which speaks HTTP and HTTPS and needs OpenSSL alone: tools/small_libcurl.sh PREFIX
#
# Debian's libcurl needs 25 further libraries, for protocols that are not used here; they would make up half of a wheel.
# The sources are those of a package of crates.io, which has the whole of curl.
set -euo pipefail
prefix=${1:?usage: tools/small_libcurl.sh PREFIX}
version=0.4.91+curl-8.22.0
sum=cd39579123e45bf762716bb893d43886ed1cabe6289455be29a4f1d4e37afb06

stamp=$(sha256sum <"$0")
if [ "$(cat "$prefix/stamp" 2>/dev/null || true)" = "$stamp" ]; then exit 0; fi
rm -rf "$prefix"
mkdir -p "$prefix"
prefix=$(cd "$prefix" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 - "https://static.crates.io/crates/curl-sys/curl-sys-$version.crate" "$work/curl.tar.gz" <<'FETCH'
import sys, urllib.request
with urllib.request.urlopen(sys.argv[1], timeout=60) as answer, open(sys.argv[2], "wb") as file:
    file.write(answer.read())
FETCH
echo "$sum  $work/curl.tar.gz" | sha256sum --check --quiet
tar -xzf "$work/curl.tar.gz" -C "$work"
source=$work/curl-sys-$version/curl
# The package leaves out the manual, which the build looks for even when it is not wanted.
mkdir -p "$source/docs/examples"
touch "$source/docs/CMakeLists.txt" "$source/docs/examples/CMakeLists.txt"

options=(
  BUILD_SHARED_LIBS=OFF BUILD_CURL_EXE=OFF BUILD_TESTING=OFF BUILD_LIBCURL_DOCS=OFF BUILD_MISC_DOCS=OFF ENABLE_CURL_MANUAL=OFF
  HTTP_ONLY=ON CURL_USE_OPENSSL=ON CURL_USE_LIBPSL=OFF CURL_USE_LIBSSH2=OFF USE_LIBIDN2=OFF USE_NGHTTP2=OFF
  CURL_BROTLI=OFF CURL_ZSTD=OFF CURL_ZLIB=OFF CURL_DISABLE_COOKIES=ON CURL_DISABLE_ALTSVC=ON
  CURL_DISABLE_HSTS=ON ENABLE_UNIX_SOCKETS=OFF
  # Where Debian and its kin have them; the package says where others do.
  CURL_CA_BUNDLE=/etc/ssl/certs/ca-certificates.crt CURL_CA_PATH=/etc/ssl/certs
)
cmake -S "$source" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=MinSizeRel -DCMAKE_INSTALL_PREFIX="$prefix" \
  -DCMAKE_POSITION_INDEPENDENT_CODE=ON "-DCMAKE_C_FLAGS=-ffunction-sections -fdata-sections" "${options[@]/#/-D}"
cmake --build "$work/build"
cmake --install "$work/build"
cp "$source/COPYING" "$prefix"
printf '%s\n' "$stamp" >"$prefix/stamp"
