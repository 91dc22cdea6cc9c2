# The tasks of the project; `make` or `make help` lists them.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Two workers by default: the suite is sized for two cores.
JOBS ?= 2

.DEFAULT_GOAL := help
.PHONY: help setup run test lint types docs bench-memory bench-transfer bench-certificate clean

help:  ## list the tasks
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 18

setup: $(STAMP)  ## make the virtual environment, pinned by constraints.txt

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test,lint,docs]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps aeon==1.6.0
	touch $(STAMP)

run: $(STAMP)  ## train on the digits and write the report (minutes on two cores)
	$(BIN)/mckean run digits

test: $(STAMP)  ## run the tests
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile -q

lint: $(STAMP)  ## check style and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: $(STAMP)  ## check types
	$(BIN)/basedpyright

docs: $(STAMP)  ## build the documentation, warnings as errors
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

bench-memory: $(STAMP)  ## memory of the adjoint against plain reverse mode
	$(BIN)/python benchmarks/memory.py

bench-transfer: $(STAMP)  ## risk curves over H at one step size
	$(BIN)/python benchmarks/transfer.py

bench-certificate: $(STAMP)  ## attack the bound of the tables by adversarial clouds (ten minutes)
	$(BIN)/python -m benchmarks.certificate

clean:  ## remove what was built (not the runs)
	rm -rf $(VENV) docs/_build docs/_generated .pytest_cache .ruff_cache .hypothesis
