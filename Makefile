# Every target sets up its own virtual environment; nothing is installed outside this folder.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TESTED := $(VENV)/.tested
JOBS ?= 2

export NUMBA_CACHE_DIR ?= $(CURDIR)/.cache

.PHONY: demo test lint types contracts bench bench-simulators checkpoint setup clean slow

setup: $(STAMP)

$(STAMP): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -c 'import sys; assert sys.version_info >= (3, 11), "fogfold needs Python 3.11 or newer; try make PYTHON=python3.12"'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[report,exact,serve]' --group dev
	@touch $@

# Tests train and meet agents of other libraries; a demonstration needs none of that.
$(TESTED): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[report,exact,train,env,serve,postgres]' --group dev --group agents
	@touch $@

demo: $(STAMP) ## A day of a small city through the whole service; writes report.html
	$(BIN)/fogfold demo --exit --report report.html

test: lint types contracts $(TESTED) ## Everything that must hold, slow suites apart
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -m 'not slow'

slow: $(TESTED) ## The suites that take longer
	$(BIN)/python -m pytest -n $(JOBS) -m slow

lint: $(TESTED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(TESTED)
	$(BIN)/mypy

contracts: $(TESTED)
	$(BIN)/lint-imports

bench: $(STAMP) ## Speed of the world, and the classic benchmark where its traces are
	$(BIN)/fogfold bench world
	-$(BIN)/fogfold bench planetlab

bench-simulators: $(STAMP) ## The world beside LEAF and ECLYPSE, in an environment of their own; make ... ARGS=--json
	@PYTHONPATH=benchmarks $(BIN)/python -m simulators.compare $(ARGS)

checkpoint: $(TESTED) ## Trains the shipped checkpoint anew, in two runs that go on where they were stopped
	$(BIN)/fogfold train --config configs/fogfold-base.yaml --out runs/fogfold-base --jobs $(JOBS)
	$(BIN)/fogfold train --config configs/fogfold-base-fine.yaml --out runs/fogfold-base-fine --jobs $(JOBS)

clean:
	rm -rf benchmarks/simulators/.venv $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
