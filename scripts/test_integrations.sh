#!/bin/sh
# Runs the tests of nacre.integrations with the real frameworks: test_integrations.sh PYTHON FOLDER
# Frameworks whose requirements exclude each other get environments of their own: FOLDER, FOLDER-NAME.
set -e
python=$1 folder=$2

run() { # ENVIRONMENT "REQUIREMENTS" TESTS...
    environment=$1 requirements=$2
    shift 2
    if ! test -f "$environment/.installed" || test pyproject.toml -nt "$environment/.installed"; then
        test -x "$environment/bin/python" || "$python" -m venv "$environment"
        # shellcheck disable=SC2086
        "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --editable "$requirements" \
            hypothesis pytest pytest-asyncio $EXTRA
        touch "$environment/.installed"
    fi
    # Frameworks give warnings of their own, which are not our errors.
    "$environment/bin/python" -m pytest -q -W default -o asyncio_mode=auto -o asyncio_default_fixture_loop_scope=function "$@"
}

EXTRA="langchain-tests"
run "$folder" ".[langgraph,langchain,haystack,openai-agents,anthropic,llama-index,google-adk,pydantic-ai]" tests/integrations
EXTRA=""
run "$folder-autogen" ".[autogen]" tests/integrations/test_autogen.py tests/integrations/test_examples.py
run "$folder-crewai" ".[crewai]" tests/integrations/test_crewai.py tests/integrations/test_examples.py
