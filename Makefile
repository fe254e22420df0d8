# Targets for setting up, running and testing: env, run, test, test-all, fuzz, faults, lint, lock. Needs make and Python 3.11 or newer.
SHELL := /bin/sh
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
RUNNING := $(VENV)/.installed-running
STAMP := $(VENV)/.installed
REWRITTEN := $(VENV)/.rewritten
PIP = $(BIN)/python -m pip install --disable-pip-version-check --no-input
UV = $(BIN)/python -m uv pip install --python $(BIN)/python --require-hashes
LOCK = $(BIN)/python -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	--no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock'
BIND ?= 127.0.0.1:8000
# Three test processes per core, because tests that crawl or use a browser wait more than half of the time.
PROCESSES ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) \* 3)
PARALLEL ?= -n $(PROCESSES) $(BY_FILE)
# Two on PostgreSQL, where no browser and no cluster is waited for: each process costs what collecting all tests costs.
BUSY ?= -n $(shell expr $$(getconf _NPROCESSORS_ONLN) \* 2) $(BY_FILE)
BY_FILE := --dist loadfile --no-loadscope-reorder

# Without compiled files, each process started by a test would compile Django and numpy again.
unexport PYTHONDONTWRITEBYTECODE
SLOWEST := --durations=20 --durations-min=0.5
# Once for all test processes, each of which would otherwise compile every file that it imports.
COMPILE = $(BIN)/python -m compileall -q -j 0 crawlmgr deepweb focused forums
COLLECT = $(BIN)/python -m pytest --collect-only -p no:cacheprovider

.PHONY: env run test test-all test-sqlite test-postgresql fuzz faults lint format lock outdated clean
.NOTPARALLEL:

env: $(STAMP)

# Installs what running needs, with the versions and hashes of the lock: with uv if it is available and reaches an index
# (parallel downloads), otherwise with pip.
$(RUNNING): requirements.lock
	@test -n "$(PYTHON)" && $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name one with PYTHON=/path/to/python3." >&2; exit 1; }
	@$(BIN)/python -c '' 2>/dev/null || { echo "Making $(VENV) with $(PYTHON) ..."; $(PYTHON) -m venv --clear $(VENV); }
	@echo "Installing what running needs (once, about a minute) ..."
	@$(BIN)/python -c 'import uv' 2>/dev/null || $(PIP) --quiet uv || echo "No uv here: pip installs, which takes longer."
	@if $(BIN)/python -c 'import uv' 2>/dev/null && $(UV) -r requirements.lock; then :; else $(PIP) --progress-bar on --require-hashes -r requirements.lock; fi
	@touch $@

# Installs the additional requirements for tests.
$(STAMP): $(RUNNING) tests/requirements.lock
	@echo "Installing what tests need ..."
	@if $(BIN)/python -c 'import uv' 2>/dev/null && $(UV) --compile-bytecode -r tests/requirements.lock; then :; else $(PIP) --require-hashes -r tests/requirements.lock; fi
	@touch $@

run: $(RUNNING)
	exec $(BIN)/python manage.py serve --bind $(BIND)

# Pytest rewrites the assertions of each test module and keeps the result. In a new checkout each test process would
# do that for all of them at the same time; two do it here, half each. Errors are left to the tests themselves.
$(REWRITTEN): $(STAMP)
	@$(COMPILE)
	@$(COLLECT) tests/crawlmgr >/dev/null 2>&1 & $(COLLECT) --ignore=tests/crawlmgr >/dev/null 2>&1; wait
	@touch $@

# All tests except those marked slow, on SQLite, including browser tests.
test: env $(REWRITTEN)
	@$(COMPILE)
	$(BIN)/python -m pytest -m "not slow" $(SLOWEST) $(PARALLEL) $(PYTEST)

# All tests, on SQLite and on PostgreSQL.
test-all: test-sqlite test-postgresql

test-sqlite: env $(REWRITTEN)
	@$(COMPILE)
	$(BIN)/python -m pytest $(SLOWEST) $(PARALLEL) $(PYTEST)

test-postgresql: env $(REWRITTEN)
	@$(COMPILE)
	@if $(BIN)/python -c 'import sys; from tests.postgresql import find_binaries; sys.exit(find_binaries() is None)'; then \
		echo "The suite again, on PostgreSQL:"; \
		CRAWLMGR_TEST_DATABASE=postgresql $(BIN)/python -m pytest -m "not browser" $(SLOWEST) $(BUSY) $(PYTEST); \
	else echo "No PostgreSQL programs found (initdb, postgres): the suite ran on SQLite only."; fi

# Only the random tests, with many times as many draws as in `make test`, and new ones each time.
fuzz: env
	$(BIN)/python -m pytest $(PARALLEL) --hypothesis-profile=fuzz $(PYTEST)

# Measures how many small faults, inserted into the code at random, the tests detect. FAULTS="--faults 60 --seed 2" draws others.
faults: env
	$(BIN)/python -m tests.seeded_faults $(FAULTS)

lint: env
	$(BIN)/ruff format --check --quiet . || { $(BIN)/ruff format --check .; exit 1; }
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/djlint --check --quiet templates || { $(BIN)/djlint --check templates; exit 1; }
	$(BIN)/python -m tests.style_sheets --check static/*.css
	@! LC_ALL=C.UTF-8 grep -rnE '.{161}' templates && ! LC_ALL=C.UTF-8 grep -nE '.{101}' static/*.js || \
		{ echo "A line is too long: at most 160 characters in a template, 100 in a script." >&2; exit 1; }

# Lays out the code, and fixes what ruff can fix automatically: order of imports, unused names.
format: env
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/djlint --reformat --quiet templates
	$(BIN)/python -m tests.style_sheets static/*.css

# After a change of requirements.txt or tests/requirements.txt: versions and hashes of everything that they install.
lock:
	$(LOCK) requirements.txt -o requirements.lock
	$(LOCK) -c requirements.lock tests/requirements.txt -o tests/requirements.lock

# Lists requirements with newer versions.
outdated: env
	$(BIN)/python -m pip list --outdated --disable-pip-version-check

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
