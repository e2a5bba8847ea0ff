# Every target does its own set-up on a machine with Python 3.11, pip and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt

.PHONY: setup setup-all browser reproduce test test-slow lint format bench bench-scale docs clean

setup: $(VENV)/.core
setup-all: $(VENV)/.all

$(VENV)/.core: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "replan needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	@touch $@

$(VENV)/.all: $(VENV)/.core
	$(PIP) -e '.[ray,crazyflow,cflib,app,mcap,test,lint,docs]'
	@touch $@

# A browser for the page's tests: Debian's, where this machine may install it.
browser:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; } \
	  || echo "no chromium and no way to install it: the browser tests will say that they were left out"

reproduce: setup
	$(BIN)/replan reproduce all --out results

test: setup-all
	$(BIN)/python -m pytest -n 2

test-slow: setup-all
	$(BIN)/python -m pytest -n 2 -m slow

lint: setup-all
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright

format: setup-all
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: setup-all
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

bench: setup-all
	$(BIN)/python -m benchmarks

bench-scale: setup-all
	$(BIN)/python -m benchmarks.scale --full

clean:
	rm -rf $(VENV) results runs .pytest_cache .ruff_cache .hypothesis
