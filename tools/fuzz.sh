#!/usr/bin/env bash
# Feeds broken input to the parsers: tools/fuzz.sh [--seconds N] [--jobs N] [TARGET...]. Each target of fuzz/, or each one
# named, runs for N seconds (default: 600; 0 only builds it), some of them at a time (default: 1), with clang's libFuzzer,
# AddressSanitizer and UndefinedBehaviorSanitizer; the preset `fuzz` builds them with clang++-14. Starts from fuzz/corpus and does not change it;
# findings go to build/fuzz/findings.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=600
jobs=1
while [[ "${1:-}" == --* ]]; do
  case "$1" in
    --seconds) seconds=${2:?tools/fuzz.sh: --seconds needs a number} ;;
    --jobs) jobs=${2:?tools/fuzz.sh: --jobs needs a number} ;;
    *) echo "usage: tools/fuzz.sh [--seconds N] [--jobs N] [TARGET...]" >&2; exit 2 ;;
  esac
  shift 2
done
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  for file in fuzz/*_fuzz.cc; do
    name=${file#fuzz/}
    targets+=("${name%_fuzz.cc}")
  done
fi
tools/build.sh fuzz "${targets[@]/%/_fuzz}"
if [ "$seconds" = 0 ]; then
  exit
fi
# Arrow is built without the sanitizer, which then takes the sizes of vectors that both sides touch for errors.
export ASAN_OPTIONS=detect_container_overflow=0:allocator_may_return_null=1:${ASAN_OPTIONS:-}
mkdir -p build/fuzz/findings

# run_target TARGET: fails with the end of its log when it finds something.
run_target() {
  local target=$1 corpus=build/fuzz/corpus/$1 log=build/fuzz/$1.log dictionary=()
  mkdir -p "$corpus"
  cp -r "fuzz/corpus/$target/." "$corpus/"
  [ ! -f "fuzz/$target.dict" ] || dictionary=("-dict=fuzz/$target.dict")
  echo "fuzz: running $target for $seconds s (log: $log)" >&2
  if ! "build/fuzz/${target}_fuzz" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=2048 \
    -print_final_stats=1 "${dictionary[@]}" "-artifact_prefix=build/fuzz/findings/$target-" "$corpus" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    echo "fuzz: $target found something; the input is in build/fuzz/findings, the whole log is $log" >&2
    # Ends xargs, and with it the other targets.
    return 255
  fi
  echo "fuzz: $target: $(grep -E '^Done ' "$log"), $(sed -n 's/^stat::peak_rss_mb: *//p' "$log") MiB" >&2
}
export -f run_target
export seconds
printf '%s\n' "${targets[@]}" | xargs -P "$jobs" -I{} bash -euo pipefail -c 'run_target {}' ||
  { echo "fuzz: failed" >&2; exit 1; }
echo "fuzz: no finding" >&2
