#!/usr/bin/env bash
# Installs a build, builds tests/install against what was installed, and runs it and the program with the source and
# build trees out of reach: install_test.sh SOURCE_DIR BUILD_DIR CMAKE
set -euo pipefail
source_dir=$1
build_dir=$2
cmake=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/prefix

"$cmake" --install "$build_dir" --prefix "$prefix" >"$scratch/install.log"
cp -r "$source_dir/tests/install" "$scratch/consumer"
"$cmake" -S "$scratch/consumer" -B "$scratch/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >"$scratch/configure.log"
"$cmake" --build "$scratch/build" >"$scratch/build.log" || { tail -n 40 "$scratch/build.log"; exit 1; }

fail() { echo "install_test: $*"; exit 1; }
for tree in "$source_dir" "$build_dir"; do
  if grep -rlF "$tree" "$prefix/lib/cmake" "$prefix/include"; then fail "installed files name $tree"; fi
  for file in "$prefix"/bin/* "$prefix"/lib/*.so*; do
    if readelf -d "$file" | grep -E 'RPATH|RUNPATH' | grep -F "$tree"; then fail "$file looks for libraries in $tree"; fi
  done
done

for file in man/man1/attention-plasticity.1 bash-completion/completions/attention-plasticity \
            zsh/site-functions/_attention-plasticity fish/vendor_completions.d/attention-plasticity.fish; do
  test -s "$prefix/share/$file" || fail "share/$file is missing"
done

# Where the system allows it, an empty folder is mounted over the source tree, which holds the build tree.
run=(env -i PATH=/usr/bin:/bin HOME="$scratch" bash -ec)
commands="cd '$scratch'; ./build/consumer; ./prefix/bin/attention-plasticity --version
          ./prefix/bin/attention-plasticity synth dump --rows 200 --dim 8 --truth_pairs 0 >/dev/null
          ./prefix/bin/attention-plasticity analyze --dataset_local_root dump --output_dir out --quiet
          test -s out/head_metrics.csv"
if unshare --mount true 2>/dev/null; then
  unshare --mount bash -ec "mount -t tmpfs none '$source_dir'; \"\$@\"" _ "${run[@]}" "$commands"
else
  "${run[@]}" "$commands"
fi
echo "install_test: passed"
