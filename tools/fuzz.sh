#!/usr/bin/env bash
# Feeds broken input to the parsers: tools/fuzz.sh [--seconds N] [TARGET...]. Each target of fuzz/, or each one named, runs
# for N seconds (default: 600), with clang's libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer; the preset `fuzz`
# builds them with clang++-14. Starts from fuzz/corpus and does not change it; findings go to build/fuzz/findings.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=600
if [ "${1:-}" = --seconds ]; then
  seconds=${2:?tools/fuzz.sh: --seconds needs a number}
  shift 2
fi
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  for file in fuzz/*_fuzz.cc; do
    name=${file#fuzz/}
    targets+=("${name%_fuzz.cc}")
  done
fi
tools/build.sh fuzz
# Arrow is built without the sanitizer, which then takes the sizes of vectors that both sides touch for errors.
export ASAN_OPTIONS=detect_container_overflow=0:allocator_may_return_null=1:${ASAN_OPTIONS:-}
mkdir -p build/fuzz/findings
for target in "${targets[@]}"; do
  corpus=build/fuzz/corpus/$target
  log=build/fuzz/$target.log
  mkdir -p "$corpus"
  cp -r "fuzz/corpus/$target/." "$corpus/"
  dictionary=()
  [ ! -f "fuzz/$target.dict" ] || dictionary=("-dict=fuzz/$target.dict")
  echo "fuzz: running $target for $seconds s (log: $log)" >&2
  if ! "build/fuzz/${target}_fuzz" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=2048 \
    -print_final_stats=1 "${dictionary[@]}" "-artifact_prefix=build/fuzz/findings/$target-" "$corpus" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    echo "fuzz: found something; the input is in build/fuzz/findings, the whole log is $log" >&2
    exit 1
  fi
  grep -E '^Done |stat::number_of_executed_units|stat::peak_rss_mb' "$log" >&2
done
echo "fuzz: no finding" >&2
