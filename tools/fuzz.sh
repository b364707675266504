#!/usr/bin/env bash
# Feeds broken answers of the Hub to the parsers: tools/fuzz.sh [SECONDS] (default: 600). Needs clang++-14 with its
# sanitizers; CLANGXX names another clang++. Starts from fuzz/corpus and does not change it; findings go to
# build/fuzz/findings.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-600}
target=hub_answers
compiler=${CLANGXX:-clang++-14}
module=src/attention_plasticity
mkdir -p "build/fuzz/corpus/$target" build/fuzz/findings
echo "fuzz: building $target" >&2
"$compiler" -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -Isrc \
  "fuzz/${target}_fuzz.cc" $module/hub/{http_headers,listing,refusal}.cc $module/json/json.cc $module/base/{text,utf8}.cc \
  -lfmt -lcurl -o "build/fuzz/${target}_fuzz"
cp -r "fuzz/corpus/$target/." "build/fuzz/corpus/$target/"
log=build/fuzz/$target.log
echo "fuzz: running $target for $seconds s (log: $log)" >&2
if ! "build/fuzz/${target}_fuzz" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=2048 \
  -print_final_stats=1 -dict=fuzz/hub_answers.dict -artifact_prefix=build/fuzz/findings/ \
  "build/fuzz/corpus/$target" >"$log" 2>&1; then
  tail -n 40 "$log" >&2
  echo "fuzz: found something; the input is in build/fuzz/findings, the whole log is $log" >&2
  exit 1
fi
grep -E '^Done |stat::number_of_executed_units|stat::peak_rss_mb' "$log" >&2
echo "fuzz: no finding" >&2
