# On a fresh machine with Python ≥ 3.11, `make demo` and `make test` set everything up themselves, in .venv.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo check test slow lint format bench docs notebook figures cli-reference schema release constraints clean

# Person 31 is shown because one step is not enough for them. Cards and programs of other seeds differ: docs/card.md.
PERSON := 31
SEED := 1

demo: $(READY)
	$(BIN)/counterplan fit german --seed $(SEED) --out demo --force
	@echo
	@echo "What was learned, written down as a card of points, which fits a page:"
	$(BIN)/counterplan distil demo --form card > demo/card.txt
	$(BIN)/counterplan show demo --form card
	@echo
	@echo "And as a program, rules that people can read:"
	$(BIN)/counterplan distil demo > demo/program.txt
	$(BIN)/counterplan show demo --form program
	@echo
	@echo "What is recommended to person $(PERSON), who needs more than one step:"
	$(BIN)/counterplan recommend demo --person $(PERSON) --json demo/plan.json --csv demo/plan.csv
	@echo
	@echo "The least possible effort, proved by exact search:"
	$(BIN)/counterplan recommend german --seed $(SEED) --person $(PERSON) --planner exact
	@echo
	@echo "What the card alone says, which asks nobody:"
	$(BIN)/counterplan recommend demo --person $(PERSON) --planner card --budget 0 --refused
	@echo
	@echo "The card, checked with the model at most three times:"
	$(BIN)/counterplan recommend demo --person $(PERSON) --planner card --refused
	@echo
	@echo "What the program alone says, which asks nobody either:"
	$(BIN)/counterplan recommend demo --person $(PERSON) --planner program --refused
	@echo
	@echo "And whether that holds: the cascade checks it, and looks for another plan if it does not:"
	$(BIN)/counterplan recommend demo --person $(PERSON) --planner cascade --refused
	@echo
	$(BIN)/counterplan export demo --form card --to demo/card.svg
	$(BIN)/counterplan export demo --to demo/page.html
	@echo "Look at demo/card.svg, demo/learning.png, demo/reliability.png, demo/plan.json and demo/plan.csv."
	@echo "The card and the program as a page, which plans with you, in any browser, without a network:"
	@echo "  file://$(CURDIR)/demo/page.html"

# The edit loop: lint, types and the fast tests, in under a minute on two cores.
check: lint
	$(BIN)/pytest -n 2 -m "not slow"

# Everything. CPU time by file is printed at the end.
test: lint
	$(BIN)/pytest -n 2 --cpu-goal 360

# Run everything and write tests/slow.txt, the tests that `check` leaves out, by the CPU times measured.
slow: $(READY)
	$(BIN)/pytest -n 2 --update-slow

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	$(BIN)/python bench/transitions.py
	$(BIN)/python bench/exact.py
	$(BIN)/python bench/audit.py
	$(BIN)/python bench/relaxations.py
	$(BIN)/python bench/search_speed.py
	$(BIN)/python bench/search.py
	$(BIN)/python bench/guided.py
	$(BIN)/python bench/guided.py --others
	$(BIN)/python bench/scaling.py
	$(BIN)/python bench/program.py
	$(BIN)/python bench/blind.py
	$(BIN)/python bench/program_speed.py
	$(BIN)/python bench/recommend_speed.py
	$(BIN)/python bench/startup.py
	$(BIN)/python bench/page.py

# The documentation as a site, in site/: open site/index.html, it needs neither a network nor a server.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --clean
	@echo "  file://$(CURDIR)/site/index.html"

notebook: $(READY)
	$(BIN)/python docs/examples/make_notebook.py

# The figures of docs/ that follow from code alone; bench/figures.py draws those of measurements.
figures: $(READY)
	$(BIN)/python docs/figures/make_figures.py

# The page of the command line, from its commands.
cli-reference: $(READY)
	$(BIN)/python docs/reference/make_cli_reference.py

schema: $(READY)
	$(BIN)/counterplan schema --out src/counterplan/problem/problem.schema.json

# The wheel and the sdist, in dist/, checked and tried in empty environments.
release:
	.ci/release

# New versions of everything, into constraints.txt: names and versions only.
constraints:
	rm -rf .venv
	$(PYTHON) -m venv .venv
	PIP_CONSTRAINT= $(BIN)/python -m pip install --quiet --upgrade --editable '.[all,boosters,causal,cluster,dev,docs]' hatchling
	$(BIN)/python -m pip list --format=freeze --exclude-editable --exclude pip --exclude setuptools > constraints.txt
	touch $(READY)

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache dist demo site

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "counterplan needs Python 3.11 or newer; try make PYTHON=python3.11"'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable '.[all,boosters,causal,cluster,dev,docs]'
	touch $(READY)
