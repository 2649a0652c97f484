# Everything runs in .venv, made here. Needs make and Python 3.11 or newer, no more.
# "make PYTHON=/path/to/python3.12 ..." chooses the Python (after "make clean", if .venv exists).

VENV := .venv
CONSTRAINTS := constraints.txt
PY := $(VENV)/bin/python
CANDIDATES := $(or $(PYTHON),python3 python3.13 python3.12 python3.11 python)
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
BENCHMARKS = $(filter-out benchmarks/_%,$(wildcard benchmarks/*.py))
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test test-all test-lowest check dist bench format env clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

demo: $(VENV)/.core ## which distance? compare them on two bundled data sets, write reports
	@$(VENV)/bin/dimetric compare --out build/demo

PYTEST = $(ONE_THREAD) $(PY) -m pytest -n auto

test: $(VENV)/.test ## run the quick tests, those that are not marked as slow
	$(PYTEST) -m "not slow" $(RECORD_COVERAGE)

# A variable of test-all holds for test as well, on which it depends.
test-all: RECORD_COVERAGE = --cov --cov-report= --cov-fail-under=0
test-all: test ## run all tests, first the quick, then the slow ones, and record their coverage
	$(PYTEST) -m slow $(RECORD_COVERAGE) --cov-append

# Old packages warn about new ones, so warnings are not errors there.
test-lowest: build/lowest.txt ## run the quick tests with the oldest versions of all packages
	@$(MAKE) --no-print-directory test VENV=build/lowest CONSTRAINTS=$< \
	  PYTEST_ADDOPTS="-o filterwarnings=default"

build/lowest.txt: pyproject.toml # each "name>=version" of pyproject.toml as "name==version"
	@mkdir -p build
	@sed -n '/^dependencies/,/^dev/s/.*"\([a-z][a-z-]*\)>=\([0-9.]*\)".*/\1==\2/p' $< | sort -u > $@

check: $(VENV)/.dev .coverage ## lint, format, types, layers, doctests, coverage of the last make test-all
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports --no-logo
	$(ONE_THREAD) $(PY) -m pytest -q --doctest-modules src
	@test -z "$$(find src -name '*.py' -newer .coverage)" || \
	  echo "note: src has changed since the last make test-all; the coverage below is older"
	$(PY) -m coverage report

dist: $(VENV)/.dev ## build wheel and sdist, try each in an empty environment, with and without extras
	@rm -rf dist build/try
	$(PY) -m build --outdir dist
	@set -e; for package in dist/*.whl dist/*.tar.gz; do \
	  echo "== $$package"; rm -rf build/try; $(PY) -m venv build/try; cp tests/smoke.py build/try; \
	  for extras in "" "[cli,plot,export,ann,fast]"; do \
	    build/try/bin/python -m pip install -qq -c $(CONSTRAINTS) "$$package$$extras"; \
	    (cd build/try && bin/python smoke.py $${extras:+--extras}); \
	  done; \
	done

bench: $(VENV)/.core ## run each script in benchmarks/
	@set -e; for script in $(BENCHMARKS); do echo "== $$script"; $(PY) $$script; done

format: $(VENV)/.dev ## sort imports, fix what can be fixed, format the code
	$(PY) -m ruff check --fix-only .
	$(PY) -m ruff format .

env: $(VENV)/.dev ## make .venv with all development tools, run nothing

clean: ## remove .venv, caches and build results
	rm -rf $(VENV) build dist .coverage .coverage.* htmlcov .pytest_cache .mypy_cache .ruff_cache \
	  .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

.coverage: # no data yet: run the tests
	@$(MAKE) --no-print-directory test-all

# The environment. A stamp is written only after its step has succeeded; .dev holds all that
# .test does, and .test all that .core does, so that each install marks those below it as well.

# $(call install,what to install,stamps,in words)
define install
	@echo "installing dimetric $(3) into $(VENV) (about a minute, once)"
	@$(PY) -m pip install -qq -c $(CONSTRAINTS) -e '$(1)' || { echo "the installation failed:\
	  the lines above say why; run make again, or 'make clean' first to start afresh"; exit 1; }
	@touch $(2:%=$(VENV)/%)
endef

$(VENV)/.core: $(VENV)/.made pyproject.toml $(CONSTRAINTS)
	$(call install,.[cli],.core,and its command)
$(VENV)/.test: $(VENV)/.made pyproject.toml $(CONSTRAINTS)
	$(call install,.[test],.core .test,and its test tools)
$(VENV)/.dev: $(VENV)/.made pyproject.toml $(CONSTRAINTS)
	$(call install,.[dev],.core .test .dev,and its development tools)

$(VENV)/.made:
	@for p in $(CANDIDATES); do \
	  v=$$($$p -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null) || continue; \
	  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' && new=$$p && break; \
	  old="$$old$${old:+, }$$p ($$v)"; \
	done; \
	if [ -z "$$new" ]; then echo "dimetric needs Python 3.11 or newer; found $${old:-no Python that\
	 runs} (tried: $(CANDIDATES)). Name another one with: make PYTHON=/path/to/python3.11 ..."; \
	  exit 1; fi; \
	if ! $$new -c 'import venv, ensurepip' 2>/dev/null; then echo "$$new ($$v) cannot make a virtual\
	 environment: its venv or ensurepip module is missing (on Debian and Ubuntu: install the\
	 package python3-venv)."; exit 1; fi; \
	echo "making $(VENV) with $$new ($$v)"; $$new -m venv $(VENV)
	@touch $@
