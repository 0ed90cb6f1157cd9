# Everything runs in .venv, which these targets create and bring up to date by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
BENCH := .venv-bench
FRAMEWORKS := .venv-integrations
CLIENTS := .clients
# The tests start many processes, and all of them would compile the same files again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo check test test-all test-busy test-clients test-integrations lint types types-src layers unit unit-all explore torture torture-postgres bench bench-peers bench-recall bench-year bench-growth bench-soak bench-tenants mutate docs web screenshots clean help

help:  ## Show what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort

$(STAMP): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[all]" --group dev
	@touch $@

demo: $(STAMP)  ## A short real story on a throw-away store
	@$(BIN)/python examples/demo.py

test: lint types-src layers unit  ## Lint, types, layers, and every test that is not slow

test-all: lint types layers unit-all  ## All of `make test`, the slow tests, and the property tests at length
	@if test -x $(FRAMEWORKS)/bin/pytest; then $(MAKE) test-integrations; \
	else echo "The adapters for frameworks were not tested with them: run make test-integrations."; fi
	@if test -f $(CLIENTS)/.installed; then $(MAKE) test-clients; \
	else echo "The real clients were not tested: run make test-clients."; fi

test-clients: $(STAMP)  ## Claude Code, Codex, Gemini CLI and OpenCode with a scripted model; installs them with npm
	@sh scripts/test_clients.sh $(BIN)/pytest $(CLIENTS)

test-integrations:  ## The adapters with the real frameworks, which it installs into environments of their own
	@sh scripts/test_integrations.sh $(PYTHON) $(FRAMEWORKS)

test-busy: $(STAMP)  ## The tests of `make test` three times, beside two busy loops for each core
	@sh scripts/test_busy.sh $(MAKE) unit

check: lint types layers  ## Lint, types, layers, and the tests of what changed: under a minute
	@sh scripts/test_changed.sh $(BIN)/pytest

lint: $(STAMP)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(STAMP)
	@$(BIN)/mypy

types-src: $(STAMP)
	@$(BIN)/mypy src

layers: $(STAMP)
	@$(BIN)/lint-imports

unit: $(STAMP)
	@$(BIN)/pytest -n auto -m "not slow" tests

unit-all: $(STAMP)
	@TEST_PROFILE=long $(BIN)/pytest -n auto --ignore tests/clients/real tests

explore: $(STAMP)  ## The property tests with new examples, many of each: half an hour
	@TEST_PROFILE=thorough $(BIN)/pytest -n auto tests/property

torture: $(STAMP)  ## Only the slow tests of tests/torture: a minute of eight processes, two hundred kills
	@$(BIN)/pytest -m slow tests/torture

torture-postgres: $(STAMP)  ## Only tests/torture/test_postgres.py: killed servers, cut connections, a replica that takes over
	@$(BIN)/pytest -s tests/torture/test_postgres.py

bench: $(STAMP)  ## Speed and memory against a Chroma-based memory, in an environment of its own
	@sh benchmarks/setup.sh $(PYTHON) $(BENCH)
	@$(BENCH)/bin/python benchmarks/against_chroma.py

bench-year: $(STAMP)  ## A simulated year of 20,000 memories with maintenance and without
	@$(BIN)/python benchmarks/year.py

bench-peers: $(STAMP)  ## Nacre beside seven other memories, each in an environment of its own: benchmarks/PEERS.md
	@cd benchmarks && ../$(BIN)/python -m peers $(PEERS)

bench-growth: $(STAMP)  ## How every operation grows from 2,000 to 1,000,000 memories: benchmarks/GROWTH.md
	@$(BIN)/python benchmarks/growth.py $(GROWTH)

bench-soak: $(STAMP)  ## Eight kinds of users on one store for an hour, with kills: benchmarks/SOAK.md
	@$(BIN)/python benchmarks/soak.py $(SOAK)

bench-tenants: $(STAMP)  ## Thousands of spaces and 64 clients on a server, over PostgreSQL and SQLite: benchmarks/TENANTS.md
	@$(BIN)/python benchmarks/tenants.py $(TENANTS)

mutate: $(STAMP)  ## Small faults planted in a copy, and which of them the tests notice: benchmarks/MUTATION.md; MUTATE="--part all --count 400"
	@$(BIN)/python scripts/mutate.py $(MUTATE)

docs: $(STAMP)  ## The pages that come from the code, what terminals print, and the site in site/
	@$(BIN)/python scripts/cli_reference.py
	@$(BIN)/python scripts/reference.py
	@$(BIN)/python scripts/console_blocks.py
	@if command -v tmux >/dev/null; then $(BIN)/python scripts/terminal_session.py; \
	else echo "docs/terminal-session.md was not written anew: install tmux."; fi
	@$(BIN)/python scripts/captures.py
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

web: web/node_modules/.installed  ## Build the page from web/ into src/nacre/web/static; needs npm
	@cd web && npm run --silent build

web/node_modules/.installed: web/package-lock.json
	@cd web && npm install --no-save --silent --no-fund --no-audit  # as the lock file says; `ci` wants every platform's files
	@touch $@

screenshots: $(STAMP)  ## Pictures of every view of the page, into docs/images; needs Chromium
	@$(BIN)/python scripts/screenshots.py

clean:  ## Remove the environments and caches
	rm -rf $(VENV) $(BENCH) .venv-peers $(FRAMEWORKS)* $(CLIENTS) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
