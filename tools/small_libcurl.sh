#!/usr/bin/env bash
# Builds the libcurl of the wheel, which speaks HTTP and HTTPS and needs OpenSSL alone: tools/small_libcurl.sh PREFIX
#
# Debian's libcurl needs 25 further libraries, for protocols that are not used here; they would make up half of a wheel.
# The sources are those of Debian 12, with its security updates; apt-get checks their signatures.
set -euo pipefail
prefix=${1:?usage: tools/small_libcurl.sh PREFIX}

stamp=$(sha256sum <"$0")
if [ "$(cat "$prefix/stamp" 2>/dev/null || true)" = "$stamp" ]; then exit 0; fi
rm -rf "$prefix"
mkdir -p "$prefix"
prefix=$(cd "$prefix" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A list of sources beside the system's, which commonly names packages alone.
mkdir -p "$work/lists/partial" "$work/archives/partial"
apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' |
  grep -E ' bookworm(-security)? ' | sort -u >"$work/sources.list"
apt=(apt-get -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
     -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work" -o "Dir::Cache::Archives=$work/archives")
"${apt[@]}" update
(cd "$work" && "${apt[@]}" source curl)
source=$(echo "$work"/curl-*/)

options=(
  BUILD_SHARED_LIBS=OFF BUILD_CURL_EXE=OFF BUILD_TESTING=OFF
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
