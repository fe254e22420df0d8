# env, run, test, test-all, fuzz, faults, lint: the whole of building and running. Needs make and Python 3.11 or newer.
SHELL := /bin/sh
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
RUNNING := $(VENV)/.installed-running
STAMP := $(VENV)/.installed
PIP = $(BIN)/python -m pip install --disable-pip-version-check --no-input
UV = $(BIN)/python -m uv pip install --python $(BIN)/python
BIND ?= 127.0.0.1:8000
# Two test processes a core: those that crawl or drive a browser wait for half of their time.
PROCESSES ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) \* 2)
PARALLEL ?= -n $(PROCESSES) --dist loadfile --no-loadscope-reorder

# The processes that tests start would each compile Django and numpy anew without compiled files.
unexport PYTHONDONTWRITEBYTECODE
SLOWEST := --durations=20 --durations-min=0.5

.PHONY: env run test test-all test-sqlite test-postgresql fuzz faults lint format outdated clean
.NOTPARALLEL:

env: $(STAMP)

# What running needs, by uv where it can be had and reaches an index (it fetches packages side by side), else by pip.
$(RUNNING): requirements.txt
	@test -n "$(PYTHON)" && $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name one with PYTHON=/path/to/python3." >&2; exit 1; }
	@$(BIN)/python -c '' 2>/dev/null || { echo "Making $(VENV) with $(PYTHON) ..."; $(PYTHON) -m venv --clear $(VENV); }
	@echo "Installing what running needs (once, about a minute) ..."
	@$(BIN)/python -c 'import uv' 2>/dev/null || $(PIP) --quiet uv || echo "No uv here: pip installs, which takes longer."
	@if $(BIN)/python -c 'import uv' 2>/dev/null && $(UV) -r requirements.txt; then :; else $(PIP) --progress-bar on -r requirements.txt; fi
	@touch $@

# What tests need beside it.
$(STAMP): $(RUNNING) tests/requirements.txt
	@echo "Installing what tests need ..."
	@if $(BIN)/python -c 'import uv' 2>/dev/null && $(UV) --compile-bytecode -r tests/requirements.txt; then :; else $(PIP) -r tests/requirements.txt; fi
	@touch $@

run: $(RUNNING)
	exec $(BIN)/python manage.py serve --bind $(BIND)

# All but what is marked slow, on SQLite, journeys in the browser included.
test: env
	$(BIN)/python -m pytest -m "not slow" $(SLOWEST) $(PARALLEL) $(PYTEST)

# Everything, on SQLite and on PostgreSQL.
test-all: test-sqlite test-postgresql

test-sqlite: env
	$(BIN)/python -m pytest $(SLOWEST) $(PARALLEL) $(PYTEST)

test-postgresql: env
	@if $(BIN)/python -c 'import sys; from tests.postgresql import find_binaries; sys.exit(find_binaries() is None)'; then \
		echo "The suite again, on PostgreSQL:"; \
		CRAWLMGR_TEST_DATABASE=postgresql $(BIN)/python -m pytest -m "not browser" $(SLOWEST) $(PARALLEL) $(PYTEST); \
	else echo "No PostgreSQL programs found (initdb, postgres): the suite ran on SQLite only."; fi

# The random tests alone, with many times the draws of `make test` and new ones each time.
fuzz: env
	$(BIN)/python -m pytest $(PARALLEL) --hypothesis-profile=fuzz $(PYTEST)

# How many small faults, put into the code at random, the tests notice. FAULTS="--faults 60 --seed 2" draws others.
faults: env
	$(BIN)/python -m tests.seeded_faults $(FAULTS)

lint: env
	$(BIN)/ruff check .
	$(BIN)/mypy

# What ruff mends by itself: order of imports, unused names. The layout of lines is not `ruff format`'s.
format: env
	$(BIN)/ruff check --fix .

# Requirements of which a newer version is out.
outdated: env
	$(BIN)/python -m pip list --outdated --disable-pip-version-check

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
