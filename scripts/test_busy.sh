#!/bin/sh
# Runs the given command three times beside two busy loops for each core; fails when one of the runs fails.
set -u
loops=""
stop() {
    for loop in $loops; do kill "$loop" 2>/dev/null; done
}
trap stop EXIT
trap 'exit 130' INT TERM

for _ in $(seq $((2 * $(getconf _NPROCESSORS_ONLN)))); do
    sh -c 'while :; do :; done' &
    loops="$loops $!"
done

failed=0
for run in 1 2 3; do
    echo "Run $run of 3, with these busy loops beside it:$loops"
    "$@" || failed=$((failed + 1))
done
echo "$failed of 3 runs failed."
[ "$failed" -eq 0 ]
