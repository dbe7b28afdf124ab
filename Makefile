# webgpu-fa2: `make run` proves the kernels on this machine, `make test` runs every check.
# Set-up (a virtual environment, a browser) happens once and leaves stamps in .venv/.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
ARGS   ?=

PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -ec

.PHONY: run serve test full setup lint types js pytest screenshots format clean
.DELETE_ON_ERROR:

run: $(VENV)/.browser ## the suite `seed`, headless: a line a check, then ALL PASS
	$(BIN)/fa2 run --suite seed $(ARGS)

serve: $(VENV)/.installed ## the page for your own browser; Ctrl+C ends it
	$(BIN)/fa2 serve $(ARGS)

test: lint types js pytest ## everything; the summary of pytest comes last

# Some minutes long. `make test` runs a third of these cases, and all sorts of broken kernels.
# The judge's matrices are small: more threads of BLAS than one only get into each other's way.
pytest full: export OPENBLAS_NUM_THREADS := 1

full: $(VENV)/.test $(VENV)/.browser ## slow tests; the suite `full` in Chromium and Firefox
	$(BIN)/python -m pytest --require-webgpu -m slow
	$(BIN)/fa2 run --suite full $(ARGS) | tail -n 3
	@if command -v firefox-esr firefox >/dev/null; then \
	  set -x; $(BIN)/fa2 run --suite full --browser firefox $(ARGS) | tail -n 3; \
	else echo "Firefox was not found: the suite was not run there" >&2; test -z "$$CI"; fi

setup: $(VENV)/.browser $(VENV)/.test

# Two processes with a browser each: half of a test's time is waiting. `ARGS=-n0`: one.
pytest: $(VENV)/.test $(VENV)/.browser
	$(BIN)/python -m pytest --require-webgpu -n 2 --dist loadfile $(ARGS)

lint: $(VENV)/.test
	$(BIN)/ruff check server tests
	$(BIN)/ruff format --check server tests

types: $(VENV)/.test
	$(BIN)/mypy

screenshots: $(VENV)/.test $(VENV)/.browser ## the pictures of README: docs/*.png, of this machine's browser
	$(BIN)/python tests/screenshots.py

format: $(VENV)/.test node_modules/.installed
	$(BIN)/ruff format server tests
	npm run --silent format

# The page needs no Node; only these checks of it do. .ci/run makes sure that Node is there.
ifneq ($(shell command -v npm 2>/dev/null),)
pytest full: node_modules/.installed # for axe-core; tests without it are skipped, but fail in CI
js: node_modules/.installed
	npm run --silent check
	npm run --silent lint
	NODE_OPTIONS=--test-reporter=dot npm run --silent test
else
js:
	@echo "npm was not found: the JavaScript checks (tsc, biome, node --test) were left out" >&2
	@test -z "$$CI"
endif

clean: ## what was built and cached; .venv and node_modules stay
	rm -rf build dist test-results .pytest_cache .mypy_cache .ruff_cache

# --- set-up ----------------------------------------------------------------------------------

# Debian's python3 comes without the part that makes environments; as root it is installed.
$(BIN)/python:
	@$(PYTHON) -m venv $(VENV) || { \
	  test "$$(id -u)" = 0 && command -v apt-get >/dev/null && \
	  apt-get -qq update && apt-get -qq -y install python3-venv && \
	  $(PYTHON) -m venv --clear $(VENV); } || { \
	  echo "$(PYTHON) cannot make a virtual environment (Debian: apt-get install python3-venv);" \
	    "Python 3.11 or later is needed, another one is named by PYTHON=..." >&2; exit 1; }

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(PIP) install --editable .
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(PIP) install --editable '.[test]'
	@touch $(VENV)/.installed $@

# Finds a browser or installs one, and sees a kernel run in it.
$(VENV)/.browser: | $(VENV)/.installed
	$(BIN)/fa2 doctor --install
	@touch $@

node_modules/.installed: package.json package-lock.json
	npm ci --no-audit --no-fund --loglevel=error
	@touch $@
