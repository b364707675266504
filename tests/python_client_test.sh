#!/usr/bin/env bash
# The program and the Python client of the Hub on one cache: python_client_test.sh PROGRAM LOOPBACK_HUB PYTHON
# PYTHON needs the packages of requirements/hub_test.txt. With `-` as PROGRAM only the client is tested.
set -euo pipefail
program=$1
loopback_hub=$2
python=$3
steps=$(dirname "$0")/python_client_test.py
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "python_client_test: $*"; exit 1; }

# The test must not use the user's own token, cache or proxy.
for name in $(compgen -e | grep -E '^(HF_|HUGGING|XDG_CACHE_HOME$|TRANSFORMERS_OFFLINE$)'); do unset "$name"; done
export HOME=$scratch/home HF_HOME=$scratch/home no_proxy='*' NO_PROXY='*'
export HF_HUB_DISABLE_XET=1 HF_HUB_DISABLE_TELEMETRY=1 HF_HUB_DISABLE_PROGRESS_BARS=1 PYTHONDONTWRITEBYTECODE=1
revision=some/branch
dump=$scratch/dump
log=$scratch/requests.log
"$python" "$steps" make "$dump"

# The server ends when its standard input closes, at the latest when this script ends.
start_hub() {
  : >"$log"
  coproc HUB { exec "$loopback_hub" --repo org/name --revision "$revision" --folder "$dump" --log "$log" "$@"; }
  hub_input=${HUB[1]}
  hub_process=$HUB_PID
  read -r HF_ENDPOINT <&"${HUB[0]}" || fail "the Hub does not start"
  export HF_ENDPOINT
}
stop_hub() {
  exec {hub_input}>&-
  wait "$hub_process" || fail "the Hub ended with $?"
}
client() {
  "$python" "$steps" "$@" 2>>"$scratch/client.log" || { tail -n 20 "$scratch/client.log"; fail "Python: $*"; }
}
download() {
  "$program" download org/name --revision "$revision" --dataset_cache_dir "$1" >"$scratch/program.out" \
    2>"$scratch/program.log" || { cat "$scratch/program.log"; fail "the program ended with $?"; }
}
has() { grep -qE "$1" "$log"; }
files='resolve|^[A-Z]+ storage'

# 0. The client alone: it accepts the server as a Hub.
start_hub --page_size 4
client snapshot "$scratch/whole" "$revision" >/dev/null
client verify "$scratch/whole" "$revision" "$dump"
client sent_once "$log" "$dump"
client snapshot "$scratch/part" "$revision" 'l00*' '*.json' >/dev/null
client verify "$scratch/part" "$revision" "$dump" head_labels.csv l0{1,2,3,4}h00{q,k}/data.parquet
cmp "$dump/l01h00q/data.parquet" "$(client file "$scratch/one" "$revision" l01h00q/data.parquet)"
stop_hub
start_hub --token hf_right --drop_after 1000x2
HF_TOKEN=hf_right client snapshot "$scratch/private" "$revision" >/dev/null
client verify "$scratch/private" "$revision" "$dump"
has '^GET storage .* 200 1000$' || fail "no connection was dropped"
if HF_TOKEN=hf_wrong "$python" "$steps" file "$scratch/no" "$revision" head_labels.csv >/dev/null 2>&1; then
  fail "a wrong token opens a private repository"
fi
stop_hub
if [ "$program" = - ]; then
  echo "python_client_test: passed, without the program"
  exit 0
fi

# 1. The program uses the files that the client downloaded.
start_hub
"$python" "$steps" state "$scratch/whole" >"$scratch/before"
download "$scratch/whole"
if has "$files"; then fail "the program asked for a file that was there: $(grep -E "$files" "$log" | head -n 1)"; fi
[ "$(wc -l <"$log")" -le 3 ] || fail "a complete snapshot cost $(wc -l <"$log") requests"
"$python" "$steps" state "$scratch/whole" >"$scratch/after"
diff "$scratch/before" "$scratch/after" || fail "the program changed a complete cache"
commit=$(cat "$scratch/whole/datasets--org--name/refs/$revision")
[ "$(tail -n 1 "$scratch/program.out")" = "$scratch/whole/datasets--org--name/snapshots/$commit" ] ||
  fail "the program names $(tail -n 1 "$scratch/program.out")"
stop_hub

# 2. The client uses the files that the program downloaded.
start_hub
download "$scratch/theirs"
client verify "$scratch/theirs" "$revision" "$dump"
client sent_once "$log" "$dump"
: >"$log"
client snapshot "$scratch/theirs" "$revision" >/dev/null
if has "$files"; then fail "the client asked for a file that was there: $(grep -E "$files" "$log" | head -n 1)"; fi
client verify "$scratch/theirs" "$revision" "$dump"
client scan "$scratch/theirs"
stop_hub

# 3. Both at the same time. The one that holds a file's lock looks for the blob before it downloads the file, so that each
# file is sent once. The first one takes two seconds for a file; the second one starts meanwhile.
at_once() {
  start_hub --slow 100000
  "$1" "$scratch/$3" &
  local first=$!
  for _ in $(seq 200); do
    if has '^HEAD api .*/resolve/|^GET .*/resolve/'; then break; fi
    sleep 0.05
  done
  has "/resolve/" || fail "nobody asked for a file"
  ! has '^GET storage' || fail "the first one was too fast for the other"
  "$2" "$scratch/$3"
  wait "$first" || fail "the first of two at once failed"
  client verify "$scratch/$3" "$revision" "$dump"
  client sent_once "$log" "$dump"
  client scan "$scratch/$3"
  stop_hub
}
client_snapshot() { client snapshot "$1" "$revision" >/dev/null; }
at_once client_snapshot download both
at_once download client_snapshot both_again
echo "python_client_test: passed"
