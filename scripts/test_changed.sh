#!/bin/sh
# Runs the test files that mirror the changed source files, and the changed test files themselves.
# Usage: test_changed.sh PYTEST; what counts as changed is everything that differs from the last commit on main.
set -eu
base=$(git merge-base HEAD main 2>/dev/null || git rev-parse HEAD)
files=$({ git diff --name-only "$base"; git ls-files --others --exclude-standard; } | sort -u | while read -r file; do
    case $file in
        tests/*/test_*.py | tests/test_*.py) echo "$file" ;;
        src/nacre/*.py)
            name=$(basename "$file" .py)
            folder=$(dirname "${file#src/nacre/}" | sed 's#/commands$##; s#^\.$##')
            echo "tests/${folder:+$folder/}test_$name.py" ;;
    esac
done | sort -u | while read -r file; do [ -f "$file" ] && echo "$file"; done || true)
if [ -z "$files" ]; then
    echo "No test file belongs to what changed."
    exit 0
fi
# shellcheck disable=SC2086 (one argument for each file)
exec "$1" -q -n auto -m "not slow" $files
