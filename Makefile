# One line of help per target; `make` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup setup-reference setup-accounting browser tracer postgres demo demo-federation demo-consoles test check check-and-install test-elsewhere test-reference test-slow test-network simulation simulation-traces test-pythons docs docs-serve figures fmt golden verify bench bench-accuracy bench-trust reproduce reproduce-full results-page dist release lock clean

# The first supported interpreter that is here and can make virtual environments; override with PYTHON=...
PYTHON ?= $(shell for v in 3.11 3.12 3.13; do python$$v -c 'import ensurepip' 2>/dev/null && echo python$$v && break; done || echo python3)
# The reference packages do not install on 3.13.
REFERENCE_PYTHON ?= $(shell for v in 3.11 3.12; do python$$v -c 'import ensurepip' 2>/dev/null && echo python$$v && break; done)
# Modules are compiled when they are first imported: most never are.
PIP_INSTALL := -m pip install -qq --disable-pip-version-check --no-compile
# The tests start hundreds of processes: modules are compiled once, whatever the surroundings say.
export PYTHONDONTWRITEBYTECODE :=
# They write thousands of small files and wait for the disk: in memory, where there is room and files may be run.
ifndef PYTEST_DEBUG_TEMPROOT
export PYTEST_DEBUG_TEMPROOT := $(shell d=$$(mktemp -d -p /dev/shm 2>/dev/null) || exit 0; \
  printf '\043!/bin/sh\n' > $$d/run && chmod +x $$d/run && $$d/run 2>/dev/null && \
  [ "$$(df -Pk /dev/shm | awk 'END {print $$4}')" -gt 4000000 ] && echo /dev/shm; rm -rf $$d)
endif
# find_python(version): that interpreter, on the path or of pyenv; nothing if it is not here
find_python = $(shell for c in python$(1) $$HOME/.pyenv/versions/$(1)*/bin/python$(1); do \
  $$c -c 'import ensurepip' 2>/dev/null && echo $$c && break; done)
SUPPORTED := 3.11 3.12 3.13
OWN = $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
# Supported interpreters besides the one of .venv that are here.
OTHERS = $(foreach v,$(filter-out $(OWN),$(SUPPORTED)),$(if $(call find_python,$(v)),$(v)))
# The tests run on the oldest and on the newest; those between on `make test-pythons`.
NEWEST = $(lastword $(OTHERS))
ABSENT = $(foreach v,$(filter-out $(OWN),$(SUPPORTED)),$(if $(call find_python,$(v)),,$(v)))
# What runs at the same time is shown one after the other, where make can.
TOGETHER := $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)
# One process a core; a file stays in one process, for its fixtures; those that take longest come first (conftest.py).
PARALLEL := --numprocesses auto --dist loadfile --no-loadscope-reorder

help: ## list what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

# environment(directory, interpreter, lock file): pinned and hashed packages, then this package without its dependencies.
# The lock names every package, so nothing is resolved: pip before 23.3 forgets pins of packages that others want with extras.
define environment
	@echo "setting up $(1) with $$($(2) --version) from $(3) ..."
	@$(2) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "fedrcd needs Python 3.11 or later; set PYTHON=..."; exit 1; }
	@$(2) -m venv $(1)
	@$(1)/bin/python $(PIP_INSTALL) --no-deps --require-hashes --requirement $(3)
	@$(1)/bin/python $(PIP_INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@
endef

setup: .venv/ready ## make the virtual environment .venv
.venv/ready: requirements/dev.txt pyproject.toml
	$(call environment,.venv,$(PYTHON),$<)

setup-reference: .venv-reference/ready ## make .venv-reference with lingam and CausalDisco, to compare with
.venv-reference/ready: requirements/reference.txt pyproject.toml
	$(call environment,.venv-reference,$(REFERENCE_PYTHON),$<)

# The report is tested in a real browser. Only root can install one; without it these tests say so and are skipped.
# debian(command, packages, what is skipped without): from the packages of Debian or Ubuntu, where we may install them
define debian
	@if command -v $(1) >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing $(1) ..."; \
	  { apt-get install -y -qq --no-install-recommends $(2) || \
	    { apt-get update -qq && apt-get install -y -qq --no-install-recommends $(2); }; } >/dev/null 2>&1 \
	    || echo "$(1) could not be installed: $(3) will be skipped"; \
	else echo "no $(1) here: $(3) will be skipped; sudo apt-get install $(2)"; fi
endef

browser: ## install Chromium from the packages of Debian or Ubuntu, to test the report
	$(call debian,chromium,chromium fonts-dejavu-core,tests of the report in a browser)

postgres: ## install PostgreSQL likewise, to test rows in its tables
	$(call debian,pg_createcluster,postgresql,tests of rows in PostgreSQL)

tracer: ## install strace likewise, to test that nothing leaves the machine
	$(call debian,strace,strace,the test that nothing leaves the machine)

demo: setup ## find the causal order behind three hospitals' tables, without pooling their rows
	@echo "three hospitals, one causal order, no row leaves its table:"
	.venv/bin/fedrcd example hospitals --out demo
	.venv/bin/fedrcd discover demo/hospital_a.csv demo/hospital_b.csv demo/hospital_c.csv --out demo/result.json --report demo/report.html
	@echo "open demo/report.html in a browser"

demo-federation: setup ## the same over real processes: a coordinator and three sites with TLS and keys, on this machine
	@.venv/bin/python -m experiments.demo_federation

demo-consoles: setup ## the same with pages in a browser: prints the links of a coordinator and three sites; ctrl-c stops
	@.venv/bin/python -m experiments.demo_consoles

test: ## set up, check and test everything (what CI runs)
	@$(MAKE) --no-print-directory --jobs 3 setup setup-reference $(NEWEST:%=.venv-%/ready)
	@$(MAKE) --no-print-directory --jobs 2 $(TOGETHER) check-and-install test-elsewhere
	@echo "running the tests ..."
	@.venv/bin/python -m pytest $(PARALLEL) -m "not reference and not slow"

# One uses one core and waits for downloads, the other uses what is left; neither is long.
check-and-install:
	@$(MAKE) --no-print-directory check
	@$(MAKE) --no-print-directory browser
	@$(MAKE) --no-print-directory tracer
	@$(MAKE) --no-print-directory postgres
test-elsewhere:
	@$(MAKE) --no-print-directory test-reference
	@$(MAKE) --no-print-directory test-pythons OTHERS=$(NEWEST)

check: setup ## formatting, lint, types, layers
	@echo "checking format, lint, types and layers ..."
	@.venv/bin/ruff format --check --quiet . && .venv/bin/ruff check --quiet .
	@.venv/bin/mypy --no-error-summary
	@out=$$(.venv/bin/lint-imports 2>&1) || { echo "$$out"; exit 1; }

test-reference: setup-reference ## compare with independent packages
	@echo "comparing with lingam and CausalDisco ..."
	@.venv-reference/bin/python -m pytest $(PARALLEL) -m reference

test-slow: setup ## more faults of real processes and clusters, some of which Flower takes a minute to notice
	@.venv/bin/python -m pytest -m "slow" tests/federation tests/data tests/console

test-network: setup ## faults between machines: a coordinator and three sites in network namespaces; needs root
	@.venv/bin/python -m pytest -rs tests/network

# SEED=n plays one and tells its story; PLANTED=1 finds the planted bugs.
SEEDS ?= 200
simulation: setup ## whole federations in one process, each from a seed: SEEDS=200, or SEED=n for the story of one
	@OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 .venv/bin/python -m simulation $(if $(SEED),--seed $(SEED),--seeds $(SEEDS)$(if $(PLANTED), --planted))

simulation-traces: setup ## the same 100 seeds on every supported interpreter that is here: the traces must be the same
	@mkdir -p build && .venv/bin/python -m simulation --seeds 100 --traces | grep -E '^[0-9]+ [0-9a-f]{64}$$' > build/traces
	@for v in $(OTHERS); do \
	  $(MAKE) --no-print-directory .venv-$$v/ready && \
	  .venv-$$v/bin/python -m simulation --seeds 100 --traces | grep -E '^[0-9]+ [0-9a-f]{64}$$' | cmp - build/traces && \
	  echo "$$(wc -l < build/traces) traces on python$$v are those of python$(OWN)" || exit 1; \
	done

# Interpreters that are not here are named.
test-pythons: ## run core tests on every other supported interpreter that is here
	@for v in $(ABSENT); do echo "python$$v is not here: not tested"; done
	@for v in $(OTHERS); do \
	  $(MAKE) --no-print-directory .venv-$$v/ready && echo "testing on python$$v ..." && \
	  .venv-$$v/bin/python -m pytest $(PARALLEL) -m "not reference" tests/statistics tests/protocol tests/methods tests/api || exit 1; \
	done
.venv-%/ready: requirements/test.txt pyproject.toml
	$(call environment,.venv-$*,$(call find_python,$*),$<)

docs: setup ## build the documentation in site/, and what of it comes from the code
	@.venv/bin/python -m tools.generate_docs
	@NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict --quiet --clean
	@echo "built: site/index.html"

docs-serve: setup ## show the documentation while it is written
	@.venv/bin/mkdocs serve

figures: setup browser ## photograph the report and the consoles
	@.venv/bin/python -m tools.screenshots
	@.venv/bin/python -m tools.console_screenshots

fmt: setup ## format the code
	@.venv/bin/ruff format . && .venv/bin/ruff check --fix --quiet .

golden: setup ## record the runs that must not change to the bit anew, ten minutes; writes tests/golden/runs.json
	@.venv/bin/python -m tests.golden.record --out tests/golden/runs.json

setup-accounting: .venv-accounting/ready ## make .venv-accounting with dp-accounting, to compare with, and nothing of ours
.venv-accounting/ready: requirements/accounting.txt
	@echo "setting up .venv-accounting from $< ..."
	@$(REFERENCE_PYTHON) -m venv .venv-accounting
	@.venv-accounting/bin/python $(PIP_INSTALL) --no-deps --require-hashes --requirement $<
	@touch $@

verify: setup-reference setup-accounting ## the large counts behind the tests; writes docs/verification.md
	@.venv-reference/bin/python -m tests.verification

bench: setup setup-reference ## speed, as ratios within one run; writes docs/speed.md
	@rm -f build/speed.jsonl
	@.venv/bin/python -m benchmarks --record build/speed.jsonl startup pairs tensors erasure editions sites masks relays rows robust page loopback layers costs variables dominance liar console over_time
	@.venv-reference/bin/python -m benchmarks --record build/speed.jsonl lingam
	@.venv/bin/python -m benchmarks.document build/speed.jsonl

bench-accuracy: setup-reference ## accuracy of all methods beside lingam; writes docs/accuracy.md
	@.venv-reference/bin/python -m experiments.pages.accuracy
	@.venv-reference/bin/python -m experiments.pages.headline

bench-trust: setup-reference ## calibration, coverage, power and speed of confidence and checks; writes docs/trust.md
	@.venv-reference/bin/python -m experiments.trust

# In the reference environment, so that the packages people would take instead have their rows too.
reproduce: setup-reference ## every table and figure of the paper, small grid; results/quick/results.md
	@.venv-reference/bin/python -m experiments run all
	@.venv-reference/bin/python -m experiments report

reproduce-full: setup-reference ## the same on the paper's grid with 10 seeds; takes hours; results/full/results.md
	@.venv-reference/bin/python -m experiments run all --full
	@.venv-reference/bin/python -m experiments report --full

# Ten seeds for every figure and table of the paper but its times; our own questions as `make reproduce` does.
results-page: setup-reference ## write docs/results.md and docs/figures
	@.venv-reference/bin/python -m experiments run stratification noise per-noise ablation coefficient --seeds 10 --results docs/results
	@.venv-reference/bin/python -m experiments run invariance scalability bnlearn --full --results docs/results
	@.venv-reference/bin/python -m experiments run complexity sample-size when-scale-suffices site-effects hidden --results docs/results
	@.venv-reference/bin/python -m experiments run contamination --seeds 10 --results docs/results
	@.venv-reference/bin/python -m experiments run privacy --seeds 1 --results docs/results
	@.venv-reference/bin/python -m experiments report --results docs/results --out docs/results.md

dist: setup ## build wheel and sdist, and try each in fresh environments of the oldest and the newest interpreter
	@.venv/bin/python -m tools.distributions $(foreach v,$(firstword $(SUPPORTED)) $(lastword $(SUPPORTED)),$(call find_python,$(v)))

release: setup ## move version, changelog and citation together: make release VERSION=0.2.0
	@.venv/bin/python -m tools.release $(VERSION)

lock: ## renew the pinned dependencies; needs uv
	@for extra in test dev reference flower; do uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-header --no-annotate --no-emit-index-url --extra $$extra pyproject.toml --output-file requirements/$$extra.txt; done

clean: ## remove environments and caches
	@rm -rf .venv .venv-* .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache demo demo-federation demo-consoles site build dist
