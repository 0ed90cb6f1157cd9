#!/bin/sh
# Runs the tests with the real clients, which npm installs into FOLDER: test_clients.sh PYTEST FOLDER
set -e
pytest=$1 folder=$2 wanted=tests/clients/real/package.json

if ! command -v npm >/dev/null; then
    echo "The real clients were not tested: they come from npm, which is not here."
    exit 0
fi
if ! cmp -s "$wanted" "$folder/.installed"; then
    mkdir -p "$folder"
    cp "$wanted" "$folder/package.json"
    if ! npm install --prefix "$folder" --no-audit --no-fund >"$folder/npm.log" 2>&1; then
        echo "The real clients were not tested: npm could not install them, as $folder/npm.log says."
        exit 0
    fi
    cp "$wanted" "$folder/.installed"
fi
"$pytest" -q -n0 tests/clients/real
