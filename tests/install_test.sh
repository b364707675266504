#!/usr/bin/env bash
# Installs a build, builds tests/install against what was installed, and runs it and the program with the source and
# build trees out of reach: install_test.sh SOURCE_DIR BUILD_DIR CMAKE
set -euo pipefail
source_dir=$1
build_dir=$2
cmake=$3
scratch=$(mktemp -d)
hub_pid=
trap 'test -z "$hub_pid" || kill "$hub_pid"; rm -rf "$scratch"' EXIT
prefix=$scratch/prefix
fail() { echo "install_test: $*"; exit 1; }

"$cmake" --install "$build_dir" --prefix "$prefix" >"$scratch/install.log"
cp -r "$source_dir/tests/install" "$scratch/consumer"
cp -r "$source_dir/examples" "$build_dir/tests/loopback_hub" "$scratch"
# The C++ snippet of the README, as it stands.
sed -n '/^```cpp$/,/^```$/p' "$source_dir/README.md" | sed '/^```/d' >"$scratch/readme.cc"
test -s "$scratch/readme.cc" || fail "README.md has no C++ snippet"
"$cmake" -S "$scratch/consumer" -B "$scratch/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
  -DREADME_SNIPPET="$scratch/readme.cc" >"$scratch/configure.log"
"$cmake" --build "$scratch/build" >"$scratch/build.log" || { tail -n 40 "$scratch/build.log"; exit 1; }

# What is installed: few headers, none of them of others; the licence; both libraries with our names only.
headers=$(find "$prefix/include" -type f | wc -l)
[ "$headers" -le 15 ] || fail "$headers headers are installed"
test -s "$prefix/share/doc/attention-plasticity/LICENSE" || fail "the licence is not installed"
for library in "$prefix"/lib/libattention_plasticity{_core,}.so; do
  symbols=$(nm -DC --defined-only "$library" | cut -d' ' -f3-)
  strangers=$(grep -vE '^((typeinfo|typeinfo name|vtable) for )?attention_plasticity::' <<<"$symbols" || true)
  [ -z "$strangers" ] || fail "$library exports ${strangers}"
  [ "$(wc -l <<<"$symbols")" -le 150 ] || fail "$library exports $(wc -l <<<"$symbols") symbols"
done
if ldd "$scratch/build/arrays" | grep -E 'arrow|parquet|curl|ssl|crypto|yaml'; then fail "core needs more than it says"; fi
for tree in "$source_dir" "$build_dir"; do
  if grep -rlF "$tree" "$prefix/lib/cmake" "$prefix/lib/pkgconfig" "$prefix/include"; then fail "installed files name $tree"; fi
  for file in "$prefix"/bin/* "$prefix"/lib/*.so* "$prefix"/lib/attention_plasticity/*.so*; do
    if readelf -d "$file" | grep -E 'RPATH|RUNPATH' | grep -F "$tree"; then fail "$file looks for libraries in $tree"; fi
  done
done
export PKG_CONFIG_LIBDIR=$prefix/lib/pkgconfig   # and no other: shared libraries ask for no package of others
for library in attention_plasticity_core attention_plasticity; do
  # shellcheck disable=SC2046
  c++ -std=c++20 "$scratch/consumer/arrays.cc" -o "$scratch/by_pkg_config" \
    $(pkg-config --cflags --libs $library) -Wl,-rpath,"$prefix/lib"
  "$scratch/by_pkg_config"
done

(exec "$scratch/loopback_hub" --repo org/dump --revision main --folder "$scratch/examples/minidoc-qwen3" \
  --log "$scratch/hub.log" >"$scratch/endpoint" </dev/null) &
hub_pid=$!
for _ in $(seq 100); do test -s "$scratch/endpoint" && break; sleep 0.1; done

for file in man/man1/attention-plasticity.1 bash-completion/completions/attention-plasticity \
            zsh/site-functions/_attention-plasticity fish/vendor_completions.d/attention-plasticity.fish; do
  test -s "$prefix/share/$file" || fail "share/$file is missing"
done

# Where the system allows it, an empty folder is mounted over the source tree, which holds the build tree.
run=(env -i PATH=/usr/bin:/bin HOME="$scratch" HF_ENDPOINT="$(head -n 1 "$scratch/endpoint")" bash -ec)
commands="cd '$scratch'; ./build/arrays; ./build/runs examples/minidoc-qwen3 org/dump; ./build/readme
          ./prefix/bin/attention-plasticity --version
          ./prefix/bin/attention-plasticity synth dump --rows 200 --dim 8 --truth_pairs 0 >/dev/null
          ./prefix/bin/attention-plasticity analyze --dataset_local_root dump --output_dir out --quiet
          test -s out/head_metrics.csv"
if unshare --mount true 2>/dev/null; then
  unshare --mount bash -ec "mount -t tmpfs none '$source_dir'; \"\$@\"" _ "${run[@]}" "$commands"
else
  "${run[@]}" "$commands"
fi
echo "install_test: passed"
