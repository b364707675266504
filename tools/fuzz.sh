#!/usr/bin/env bash
# Feeds broken answers of the Hub to the parsers: tools/fuzz.sh [SECONDS] (default: 600). The preset `fuzz` builds the fuzz
# targets with clang++-14. Starts from fuzz/corpus and does not change it; findings go to build/fuzz/findings.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-600}
target=hub_answers
tools/build.sh fuzz
corpus=build/fuzz/corpus/$target
log=build/fuzz/$target.log
mkdir -p "$corpus" build/fuzz/findings
cp -r "fuzz/corpus/$target/." "$corpus/"
echo "fuzz: running $target for $seconds s (log: $log)" >&2
if ! "build/fuzz/${target}_fuzz" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=2048 \
  -print_final_stats=1 "-dict=fuzz/$target.dict" -artifact_prefix=build/fuzz/findings/ "$corpus" >"$log" 2>&1; then
  tail -n 40 "$log" >&2
  echo "fuzz: found something; the input is in build/fuzz/findings, the whole log is $log" >&2
  exit 1
fi
grep -E '^Done |stat::number_of_executed_units|stat::peak_rss_mb' "$log" >&2
echo "fuzz: no finding" >&2
