.DEFAULT_GOAL := help
.PHONY: help figures all train resume test test-slow test-slurm test-crash lint docs bench report clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORES ?= all
SNAKEMAKE := $(BIN)/snakemake --cores $(CORES)
# A folder that checkouts share trained results through.
TRAIN := $(SNAKEMAKE) all_trainings $(if $(SHUFFLEDP_CACHE),--cache train)
# Rules that time, each into the table of its name.
TIMING := benchmark_accountants benchmark_numerical_accounting benchmark_one_round benchmark_shuffled_gaussian
# Training too where a target that brings torch was made before.
TIMING += $(if $(wildcard $(VENV)/.with-train $(VENV)/.with-test),benchmark_training)

help: ## Say what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 18
	@echo "Single figure: snakemake --cores 1 figures/girgis2021/fig2.pdf (in the environment that any of these makes)"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# One stamp a set of extras, so that drawing figures never waits for torch.
$(VENV)/.with-figures: EXTRAS := figures,workflow
$(VENV)/.with-train: EXTRAS := figures,workflow,training,scattering
$(VENV)/.with-slurm: EXTRAS := figures,workflow,lint,test,training,scattering,cluster
# types are checked against those of torch, which must be there
$(VENV)/.with-lint: EXTRAS := figures,workflow,lint,training
$(VENV)/.with-docs: EXTRAS := docs,figures,interop
$(VENV)/.with-test: EXTRAS := docs,figures,workflow,lint,test,training,scattering
$(VENV)/.with-%: $(BIN)/python constraints.txt pyproject.toml
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[$(EXTRAS)]'
	@touch $@

figures: $(VENV)/.with-figures ## Redraw all figures from cached results (a minute or two, mostly set-up, where no result is stale)
	$(SNAKEMAKE) all_figures --forcerun plot

all: $(VENV)/.with-figures ## Everything but training: results that are missing or stale, figures, ledger (a minute or two where none is)
	$(SNAKEMAKE)

train: $(VENV)/.with-train ## Train what is not trained yet (hours: it says first about how many; needs torch, several GB)
	$(BIN)/shuffledp train --list
	$(TRAIN)
	$(SNAKEMAKE)

resume: $(VENV)/.with-figures ## After a crash: the command that was cut off again, from where it was (another: ARGS="--cores 2 all_trainings")
	@$(BIN)/python -m shuffledp.reproduction.recovery $(ARGS)

test: $(VENV)/.with-test ## Install what the tests need, torch included (several GB), and run them
	$(BIN)/python -m pytest --numprocesses auto

test-slow: $(VENV)/.with-test ## Run the tests that are marked slow, which `make test` leaves out (some fourteen minutes)
	$(BIN)/python -m pytest --numprocesses auto -m slow

test-slurm: $(VENV)/.with-slurm ## Run the workflow on a Slurm of one node, brought up for it (root, slurm-wlm and munge; a quarter of an hour)
	SHUFFLEDP_TEST_SLURM=$${SHUFFLEDP_TEST_SLURM:-all} $(BIN)/python -m pytest tests/workflow/test_slurm.py

test-crash: $(VENV)/.with-test ## Kill the smoke run 20 times at random moments, and compare with an undisturbed one (half an hour)
	SHUFFLEDP_TEST_CRASH=1 $(BIN)/python -m pytest tests/workflow/test_crash.py

lint: $(VENV)/.with-lint ## Check style, types and layers: ruff, snakefmt, mypy, import-linter, snakemake --lint, hadolint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow/Snakefile workflow/rules
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/mypy
	$(BIN)/snakemake --lint
	$(BIN)/hadolint Dockerfile

docs: $(VENV)/.with-docs ## Make the documentation site, build/docs/index.html (no network is needed to make or to read it)
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --builder html docs build/docs

bench: $(VENV)/.with-figures ## Time the accountants, and training if torch is there, into results/benchmarks/ (two minutes)
	$(BIN)/snakemake --cores 1 $(TIMING:benchmark_%=results/benchmarks/%.csv) --forcerun $(TIMING)
	@for rule in $(TIMING); do column -s, -t results/benchmarks/$${rule#benchmark_}.csv || exit; done

report: $(VENV)/.with-figures ## One HTML page, report.html: ledger, figures with captions, brackets, where each result comes from
	$(SNAKEMAKE) all_report
	@cp results/report/report.html report.html
	@echo "report.html is written."

clean: ## Remove the environment, logs and caches; tracked results and figures stay
	rm -rf $(VENV) .snakemake .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist report.html
	rm -rf results/logs results/benchmarks results/smoke figures/smoke workflow/shuffledp.egg-info
