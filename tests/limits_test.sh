#!/usr/bin/env bash
# The program under small limits, with a full disk, a reader that leaves, and an interrupt. usage: limits_test.sh PROGRAM MODELS
set -u
program=$1 models=$2 failed=0
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
model=$models/resnet18.train.ts.op17.onnx

# expect NAME STATUSES COMMAND...: the exit status is one of those, and whoever is told of an error is told in words.
expect() {
  local name=$1 allowed=$2 status=0
  shift 2
  "$@" >"$work/out" 2>"$work/err" || status=$?
  if [[ " $allowed " != *" $status "* ]]; then
    echo "$name: exit status $status, not one of $allowed"; head -5 "$work/err"; failed=1
  elif [ "$status" = 2 ] && ! grep -q '^onnx-mem: error: .*\[[a-z-]*\]$' "$work/err"; then
    echo "$name: exit status 2 without a word"; head -5 "$work/err"; failed=1
  fi
}

limited() { (ulimit "$1" "$2"; shift 2; exec "$@"); }

expect "300 MB of address space" "0 2" limited -v 300000 "$program" "$model" -b 4
expect "60 MB of address space" "0 2" limited -v 60000 "$program" "$model" -b 4
expect "256 KB of stack" 0 limited -s 256 "$program" "$model" -b 4
expect "six open files" 0 limited -n 6 "$program" "$model" -b 4 -o "$work/report.json"
expect "a full disk under standard output" 2 bash -c "'$program' '$model' -b 4 >/dev/full"
expect "files of at most 1 KB" 2 limited -f 1 "$program" "$model" -b 4 -o "$work/short.json"
[ ! -s "$work/short.json" ] || { echo "half a report was left behind"; failed=1; }
expect "a reader that leaves" "0 141" bash -c "set -o pipefail; '$program' '$model' --by tensor -v -n 0 | head -1 >/dev/null"

# An interrupt ends a search with what it has found, and leaves no part of a file.
set -m  # else the shell has it ignore interrupts
"$program" plan "$model" -b 64 --budget 1GiB --time-limit 60 -o "$work/plan.json" >/dev/null 2>&1 &
search=$!
set +m
sleep 0.3
kill -INT $search 2>/dev/null
begin=$(date +%s)
wait $search
status=$?
if [ $(($(date +%s) - begin)) -gt 5 ]; then echo "an interrupt was not heard"; failed=1; fi
case $status in 0 | 1 | 130) ;; *) echo "an interrupt: exit status $status"; failed=1 ;; esac
if compgen -G "$work/plan.json?*" >/dev/null; then echo "an interrupt left a part of a file"; failed=1; fi
exit $failed
