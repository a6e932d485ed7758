PYTHON ?= python3
VENV := .venv
LIGHT := $(VENV)/.light
STAMP := $(VENV)/.installed

.DELETE_ON_ERROR:
.PHONY: help demo test docs lint clean

help:  ## show this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST)

demo: $(LIGHT)  ## design, solve and verify a few mechanisms; results in demo-out/
	$(VENV)/bin/ldpopt demo --out demo-out

# The workers of pytest are the parallelism: one thread each for the linear algebra.
test: export OMP_NUM_THREADS := 1
# The tests start many processes: each reads what the first has compiled.
test: export PYTHONDONTWRITEBYTECODE :=
test: $(STAMP)  ## run the tests and the doctests
	$(VENV)/bin/python -m pytest -n 2 --dist worksteal

docs: $(STAMP)  ## build the documentation; open site/index.html
	$(VENV)/bin/zensical build --clean --strict

lint: $(STAMP)  ## check style, types and which room imports which
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

clean:  ## remove everything that make and the tools create
	rm -rf $(VENV) demo-out site build dist *.egg-info .cache .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(LIGHT): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("ldpopt needs Python 3.11 or later; try make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	@echo "Setting up $(VENV); the first time takes a minute or two."
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install -qq --upgrade pip
	@$(VENV)/bin/python -m pip install -qq --editable .
	@touch $@

$(STAMP): $(LIGHT)
	@echo "Installing what the tests and the documentation need."
	@$(VENV)/bin/python -m pip install -qq --editable ".[test,lint]"
	@touch $@
