# Every target does its own set-up on a machine with Python 3.11, pip and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt
# Relative, since pip splits it at spaces.
export PIP_CONSTRAINT := constraints.txt

.PHONY: setup setup-all browser reproduce test test-core test-slow test-ns-gym coverage mutants lint lint-files format bench \
  bench-scale docs wheel check-tag fly clean

setup: $(VENV)/.core
setup-all: $(VENV)/.all

$(VENV)/.core: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "replan needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[study,nature]'
	$(BIN)/python -m replan.warm
	@touch $@

$(VENV)/.all: $(VENV)/.core
	$(PIP) -e '.[study,gym,ray,crazyflow,cflib,app,mcap,ros,field,nature,test,lint,docs]'
	@touch $@

# A browser for the page's tests: Debian's, where this machine may install it.
browser:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; } \
	  || echo "no chromium and no way to install it: the browser tests will say that they were left out"

reproduce: setup
	$(BIN)/replan reproduce all --out results

# Simulated flights: the physics of crazyflow, and Table 3.
$(VENV)/.fly: $(VENV)/.core
	$(PIP) -e '.[crazyflow,mcap]'
	@touch $@

fly: $(VENV)/.fly
	$(BIN)/replan reproduce table3 --out results

# Three workers on two cores: some tests wait for a browser, a robot or a clock.
test: setup-all browser
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder --max-worker-restart 1

# The library without its extras for robots, clusters and pages, where those do not install.
CORE := model estimate forecast planning skip schedule execute evaluation certificates
test-core: setup
	$(PIP) -e '.[study,test]'
	$(BIN)/python -m pytest -n 2 $(addprefix tests/,$(CORE)) tests/test_cli.py

# Lines and branches that `make test` enters; compiled loops run outside Python and count as not entered.
coverage: setup-all browser
	$(PIP) -e '.[coverage]'
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --cov=replan --cov-branch --cov-report=term:skip-covered

test-slow: setup-all
	$(BIN)/python -m pytest -n 2 --dist worksteal -o faulthandler_timeout=3600 -m 'slow or hypothesis' --hypothesis-profile=slow

# Whether the tests tell the code from small changes of it, by hand; a sample: make mutants MUTANTS='--each 30'.
MUTANTS ?=
mutants: setup-all
	$(PIP) -e '.[mutants]'
	$(BIN)/python tests/mutants.py $(MUTANTS)

# NS-Gym drags in torch and MuJoCo, so it has an environment of its own: torch first, the CPU build where pip
# can see one.
NS_GYM := .venv-ns-gym
test-ns-gym: $(NS_GYM)/.ready
	$(NS_GYM)/bin/python -m pytest tests_ns_gym

$(NS_GYM)/.ready: export PIP_CONSTRAINT := constraints-ns-gym.txt
$(NS_GYM)/.ready: pyproject.toml constraints-ns-gym.txt
	test -x $(NS_GYM)/bin/python || $(PYTHON) -m venv $(NS_GYM)
	$(NS_GYM)/bin/python -m pip --disable-pip-version-check install --quiet torch
	$(NS_GYM)/bin/python -m pip --disable-pip-version-check install --quiet -e '.[study,gym,ns-gym]' pytest
	@touch $@

lint: setup-all lint-files
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/python docs/check_docstrings.py

# Workflows, templates and the citation against their published schemas, which come with the checker.
CHECK := $(BIN)/check-jsonschema --builtin-schema
lint-files: setup-all
	$(CHECK) vendor.github-workflows .github/workflows/*.yml
	$(CHECK) vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/idea.yml
	$(CHECK) vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(CHECK) vendor.citation-file-format CITATION.cff

format: setup-all
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: setup-all
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

# Source archive and wheel in dist/.
wheel: setup
	$(PIP) hatchling
	rm -rf dist
	$(BIN)/python -m hatchling build

# A release is tagged with the version of the package: make check-tag TAG=v0.3.0.
check-tag: setup
	@test "$(TAG)" = "v$$($(BIN)/python -c 'import replan; print(replan.__version__)')" \
	  || { echo "the tag $(TAG) is not the version of the package"; exit 1; }

bench: setup-all
	$(BIN)/python -m benchmarks

bench-scale: setup-all
	$(BIN)/python -m benchmarks.scale --full
	$(BIN)/python -m benchmarks reach

clean:
	rm -rf $(VENV) $(NS_GYM) dist results runs mutants .pytest_cache .ruff_cache .hypothesis
