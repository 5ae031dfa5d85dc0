# Everything a newcomer needs, from a bare Debian machine with Python 3.11 or newer, pip, and apt for the services.
# A target sets up what it needs in .venv and remembers it in stamp files, so that the second run starts at once.
# Another interpreter: `make test PYTHON=python3.13` (remove .venv first, or name another with VENV=...).

PYTHON ?= python3
VENV ?= .venv
PYTEST_ARGS ?=
# How many tests run at once: `make test TEST_PROCESSES=0` runs them one by one, for a debugger.
TEST_PROCESSES ?= 3
# Each is a program with sensible defaults; a name with an underscore is a helper of theirs.
BENCHMARKS ?= $(sort $(filter-out benchmarks/_%,$(wildcard benchmarks/*.py)))

BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
# Debian keeps daemons in sbin, which is not on every user's PATH.
export PATH := $(PATH):/usr/sbin:/sbin

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test check format bench clean

help: ## this list
	@echo "Beskar Jobs. Targets:"
	@sed -n 's/^\([a-z]*\):.*## \(.*\)$$/  make \1	\2/p' $(MAKEFILE_LIST) | expand -t 18

demo: $(STAMPS)/demo ## make thumbnails of real photographs on two workers, and kill one of them half-way
	$(BIN)/python -m examples.media.demo

test: $(STAMPS)/test mosquitto mosquitto_pub ## run all tests, against real brokers and databases
	$(BIN)/pytest --numprocesses $(TEST_PROCESSES) --dist worksteal $(PYTEST_ARGS)

check: $(STAMPS)/check ## format, lint, generated code, types (mypy and pyright), borders between the parts, manners
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/beskar-codegen check
	$(BIN)/mypy
	$(BIN)/stubtest --concise --mypy-config-file pyproject.toml examples.media.handlers
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/python tools/check_source.py

format: $(STAMPS)/check ## put the source into the form that `make check` asks for
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMPS)/bench mosquitto redis-server ## measure latency and throughput, beside other job systems
	@set -e; for script in $(BENCHMARKS); do echo "== $$script"; $(BIN)/python $$script; done

clean: ## remove the environment and all that the tools have left
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .demo .bench build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- the environment ------------------------------------------------------------------------------------------------

# pip 25.1 is the first that knows dependency groups, and Debian's is older: so pip comes first. Debian keeps ensurepip,
# which venv needs for a pip of its own, in a package apart (python3-venv); where it is missing, the pip at hand helps.
$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "$(PYTHON) is no Python 3.11 or newer; name one: make PYTHON=python3.11" >&2; exit 1; }
	@if $(PYTHON) -c 'import ensurepip' 2>/dev/null; \
	    then $(PYTHON) -m venv $(VENV); \
	    else $(PYTHON) -m venv --without-pip $(VENV) && $(PYTHON) -m pip --python $(BIN)/python install --quiet pip; \
	    fi || { echo "no environment could be made with $(PYTHON): apt-get install python3-venv" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	@mkdir -p $(STAMPS) && touch $@

comma := ,
INSTALL = $(BIN)/python -m pip install --quiet --editable '.[$(1)]' $(foreach group,$(2),--group $(group))

$(STAMPS)/demo: $(STAMPS)/venv pyproject.toml
	$(call INSTALL,embedded$(comma)codegen,examples)
	@touch $@

$(STAMPS)/test: $(STAMPS)/venv pyproject.toml
	$(call INSTALL,embedded$(comma)codegen,test)
	@touch $@

# The type checkers follow the imports of tests, benchmarks and examples too.
$(STAMPS)/check: $(STAMPS)/venv pyproject.toml
	$(call INSTALL,embedded$(comma)codegen,check test bench examples)
	@touch $@

$(STAMPS)/bench: $(STAMPS)/venv pyproject.toml
	$(call INSTALL,embedded$(comma)codegen,bench examples)
	@touch $@

# --- services: only their programs; tests start them themselves, on ports of their own --------------------------------

.PHONY: mosquitto mosquitto_pub redis-server
mosquitto redis-server:
	@command -v $@ >/dev/null || PATH="$$PATH" SUDO="$(SUDO)" tools/apt_install.sh $@

mosquitto_pub:
	@command -v $@ >/dev/null || PATH="$$PATH" SUDO="$(SUDO)" tools/apt_install.sh mosquitto-clients
