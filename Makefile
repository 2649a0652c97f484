# All targets run in the virtual environment .venv, which is created first. They only need make and
# Python 3.11 or newer. To choose the Python, run "make PYTHON=/path/to/python3.12 ..."; if .venv
# already exists, run "make clean" first.

VENV := .venv
CONSTRAINTS := constraints.txt
PY := $(VENV)/bin/python
CANDIDATES := $(or $(PYTHON),python3 python3.13 python3.12 python3.11 python)
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test test-all test-lowest fuzz check audit dist bench format env clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

demo: $(VENV)/.core ## compare distances on two data sets, and write reports to build/demo/
	@$(VENV)/bin/dimetric compare --out build/demo

PYTEST = $(ONE_THREAD) $(PY) -m pytest -n auto

test: $(VENV)/.test ## run the quick tests, which are not marked as slow
	$(PYTEST) -m "not slow" $(RECORD_COVERAGE)

# Variables of test-all also apply to its prerequisite, test.
test-all: RECORD_COVERAGE = --cov --cov-report= --cov-fail-under=0
test-all: test ## run the quick tests, then the slow ones, and measure their coverage
	$(PYTEST) -m slow $(RECORD_COVERAGE) --cov-append

# Warnings are not errors here, because old packages warn about newer ones.
test-lowest: build/lowest.txt ## run the quick tests with the oldest supported versions
	@$(MAKE) --no-print-directory test VENV=build/lowest CONSTRAINTS=$< \
	  PYTEST_ADDOPTS="-o filterwarnings=default"

build/lowest.txt: pyproject.toml # replace each "name>=version" by "name==version"
	@mkdir -p build
	@grep -oE '"[a-z][a-z0-9-]*(\[[a-z,]*\])?>=[0-9.]+"' $< | sed 's/"//g; s/\[.*\]//; s/>=/==/' | \
	  sort -u > $@

fuzz: $(VENV)/.test ## run the tests with random input, ten times as many examples as test-all
	DIMETRIC_FUZZ_FACTOR=10 $(PYTEST) tests/fuzz

check: $(VENV)/.dev .coverage ## check lint, format, types, imports, doctests, and the coverage of test-all
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports --no-logo
	$(ONE_THREAD) $(PY) -m pytest -q --doctest-modules src
	@test -z "$$(find src -name '*.py' -newer .coverage)" || \
	  echo "note: src has changed since the last make test-all, so the coverage below is outdated"
	$(PY) -m coverage report

# pip-audit has many dependencies, so it gets its own environment.
audit: $(VENV)/.made ## report known vulnerabilities of the versions in constraints.txt
	@test -x build/audit/bin/pip-audit || { rm -rf build/audit && $(PY) -m venv build/audit && \
	  build/audit/bin/python -m pip install -qq pip-audit; } || { echo "No audit was made: pip-audit could not be\
	 installed. Check that the package index can be reached."; exit 0; }; \
	test ! -x build/audit/bin/pip-audit || \
	  build/audit/bin/python -P tests/audit.py $(CONSTRAINTS)

dist: $(VENV)/.dev ## build wheel and sdist, and test both in empty environments
	@rm -rf dist build/try
	$(PY) -m build --outdir dist
	@set -e; for package in dist/*.whl dist/*.tar.gz; do \
	  echo "== $$package"; rm -rf build/try; $(PY) -m venv build/try; cp tests/smoke.py build/try; \
	  for extras in "" "[cli,plot,export,ann,fast]"; do \
	    build/try/bin/python -m pip install -qq -c $(CONSTRAINTS) "$$package$$extras"; \
	    (cd build/try && bin/python smoke.py $${extras:+--extras}); \
	  done; \
	done

bench: $(VENV)/.fast ## compare speed and memory with other libraries (QUICK=1: 5 minutes)
	$(PY) benchmarks/bar.py $(if $(QUICK),--quick)

format: $(VENV)/.dev ## sort imports, apply automatic fixes, and format the code
	$(PY) -m ruff check --fix-only .
	$(PY) -m ruff format .

env: $(VENV)/.dev ## create .venv with all development tools

clean: ## remove .venv, .bench, caches and build results
	rm -rf $(VENV) .bench build dist .coverage .coverage.* htmlcov .pytest_cache .mypy_cache \
	  .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

.coverage: # if it does not exist, run the tests
	@$(MAKE) --no-print-directory test-all

# The environment. An empty stamp file marks each installation that has succeeded. The packages of
# .dev include those of .test, and these include those of .core, so an installation also writes the
# stamps of the smaller ones.

# $(call install,requirement,stamps,description)
define install
	@echo "installing dimetric $(3) into $(VENV) (about a minute, once)"
	@$(PY) -m pip install -qq -c $(CONSTRAINTS) -e '$(1)' || { echo "the installation failed:\
	  see the lines above. Run make again, or run 'make clean' first to start from scratch."; exit 1; }
	@touch $(2:%=$(VENV)/%)
endef

$(VENV)/.core: $(VENV)/.made pyproject.toml $(CONSTRAINTS)
	$(call install,.[cli],.core,and its command)
$(VENV)/.fast: $(VENV)/.core
	$(call install,.[fast],.fast,with compiled code)
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
	if [ -z "$$new" ]; then echo "dimetric needs Python 3.11 or newer; found $${old:-no working\
	 Python} (tried: $(CANDIDATES)). To choose another: make PYTHON=/path/to/python3.11 ..."; \
	  exit 1; fi; \
	if ! $$new -c 'import venv, ensurepip' 2>/dev/null; then echo "$$new ($$v) cannot create a virtual\
	 environment: its venv or ensurepip module is missing (on Debian and Ubuntu: install the\
	 package python3-venv)."; exit 1; fi; \
	echo "creating $(VENV) with $$new ($$v)"; $$new -m venv $(VENV)
	@touch $@
