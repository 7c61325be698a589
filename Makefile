# Users need `make app` and `make test`; the other targets are for development.
# Settings: PORT (8501), ADDRESS (127.0.0.1), PYTHON (default: the first of 3.11 to 3.13).
PORT ?= 8501
ADDRESS ?= 127.0.0.1
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
  $$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
APP := .venv/.app-installed
DEV := .venv/.dev-installed
JAX := .venv-jax/.installed
RAY := .venv/.ray-installed
S3 := .venv/.s3-installed
SPARK := .venv/.spark-installed
export STREAMLIT_BROWSER_GATHER_USAGE_STATS := false
# Without byte code, every child process and test worker would compile the program again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: app test test-long wheel check lint types sweep jax ray spark s3 bench links load faults screenshots data docs messages browser axe nginx clean

app: $(APP)
	@echo "Epochwise: http://$(ADDRESS):$(PORT)"
	@$(BIN)/python -m streamlit run app.py --server.port $(PORT) --server.address $(ADDRESS) --server.headless true

# SPEC is the name of a sweep in runners/sweeps/ or a TOML file.
SPEC ?= quick
sweep: $(APP)
	$(BIN)/python -m runners run $(SPEC) --yes

# Every room, with real files, child processes and a browser; tests/tiers.py lists what is long.
test: $(DEV) browser
	$(call TESTED,not long)

# Campaigns, walks through the app, trainings of every kind, clusters, buckets, public data.
test-long: $(DEV) $(JAX) $(RAY) $(S3) browser axe nginx
	$(call TESTED,long)

# A test that fails beside others on a busy machine runs once more on its own, named in the
# output. What fails twice has failed.
define TESTED
$(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder -m "$(1)" || \
  { [ $$? = 1 ] && $(BIN)/python -m pytest --last-failed --last-failed-no-failures=none; }
endef

# A wheel, tried in an empty environment from another folder.
wheel: $(DEV)
	rm -rf build/wheel build/wheel-env
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir build/wheel .
	$(PYTHON) -m venv build/wheel-env
	build/wheel-env/bin/python -m pip install --quiet -c requirements/constraints.txt build/wheel/*.whl
	cd build/wheel-env && bin/epochwise how-long

# The daily loop: lint, types, and tests without a browser, a framework or a campaign.
check: lint
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow"

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Campaigns of files and texts from strangers that lie beside the tests of their subject.
STRANGERS = tests/planner/importers/test_untrusted.py tests/planner/store/test_walls.py tests/browser/test_hostile_uploads.py
# Tests outside tests/faults/ that `make test` runs on a sample, drawn cases among them.
SAMPLED = $(filter-out $(STRANGERS),$(shell grep -rlE "\bFULL\b|EPOCHWISE_FAULTS|@given" tests --include='test_*.py' | grep -v tests/faults/))
faults: $(DEV)
	EPOCHWISE_FAULTS=full $(BIN)/python -m pytest -m faults -s -p no:randomly tests/faults tests/runners $(STRANGERS)
	EPOCHWISE_FAULTS=full EPOCHWISE_SHIPPED_RESULTS=$(CURDIR)/data/results $(BIN)/python -m pytest -q \
	  tests/api/test_same_numbers.py tests/planner/answers/test_library_answers.py
	EPOCHWISE_FAULTS=full $(BIN)/python -m pytest -q $(SAMPLED)

bench: $(DEV)
	$(BIN)/python -m tests.bench

# Two workers over links of a set rate, beside the prediction; needs root and CAP_NET_ADMIN.
links: $(APP)
	$(BIN)/python -m runners links

load: $(DEV) nginx
	$(BIN)/python -m tests.figures_page "make load" tests.load

screenshots: $(DEV) browser
	$(BIN)/python -m tests.browser.screenshots docs/screenshots

data: $(APP)
	$(BIN)/python data/build.py

docs: $(APP)
	for page in catalog records refusals; do $(BIN)/python -m planner docs $$page > .venv/page.md && mv .venv/page.md docs/$$page.md || exit 1; done
	$(BIN)/python -m api > .venv/page.md && mv .venv/page.md docs/api.md

# The templates of all sentences, and those without values, for translators (docs/decisions/0060-sentences.md).
messages: $(DEV)
	mkdir -p locale
	$(BIN)/python -m babel.messages.frontend extract --mapping tests/babel.cfg --keyword Text --keyword plural:2,3 --no-wrap --sort-by-file planner pages api runners backtest -o locale/epochwise.pot

browser: $(DEV)
	@$(BIN)/python -m tests.browser.chromium

# axe-core from npm, for the accessibility test; without npm that test is skipped.
axe: $(DEV)
	@$(BIN)/python -m tests.browser.axe

# nginx from the system's packages, for tests of several servers; without it they are skipped.
nginx: $(DEV)
	@$(BIN)/python -m tests.load.proxy

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "Epochwise needs Python 3.11, 3.12 or 3.13 (with venv). None was found: install one, or run make PYTHON=/path/to/python."; exit 1; }
	$(PYTHON) -m venv .venv || { rm -rf .venv; echo "Making .venv failed: on Debian, apt-get install python3-venv."; exit 1; }
	$(BIN)/python -m pip install --quiet --upgrade pip

$(APP): requirements.txt requirements/constraints.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet -r requirements.txt
	@touch $@

$(DEV): requirements/dev.txt $(APP)
	$(BIN)/python -m pip install --quiet -r requirements/dev.txt
	@touch $@

# A second environment: JAX, Keras and pyarrow, no TensorFlow and no DuckDB.
jax: $(JAX)

$(JAX): requirements/jax.txt requirements/constraints.txt
	test -x .venv-jax/bin/python || $(PYTHON) -m venv .venv-jax
	.venv-jax/bin/python -m pip install --quiet --upgrade pip
	.venv-jax/bin/python -m pip install --quiet -r requirements/jax.txt
	@touch $@

# Ray, for sweeps over a cluster: 350 MB beside the product.
ray: $(RAY)

$(RAY): requirements/ray.txt requirements/constraints.txt $(APP)
	$(BIN)/python -m pip install --quiet -r requirements/ray.txt
	@touch $@

# Spark, for the launcher of that name, and its tests on a local cluster of two executors: 490 MB beside the product.
spark: $(SPARK) $(DEV)
	@command -v java >/dev/null || { echo "Spark needs Java 17 or later: on Debian, apt-get install default-jre-headless."; exit 1; }
	$(BIN)/python -m pytest -p no:randomly tests/runners/launch/test_spark.py

$(SPARK): requirements/spark.txt requirements/constraints.txt $(APP)
	$(BIN)/python -m pip install --quiet -r requirements/spark.txt
	@touch $@

# The tests of the store in a bucket of a real S3 server on this machine, and its kill campaigns.
s3: $(S3)
	EPOCHWISE_S3=1 $(BIN)/python -m pytest -p no:randomly tests/planner/store/disk/test_bucket.py tests/faults/test_bucket.py
	$(BIN)/python -m pytest -p no:randomly -p tests.store.in_a_bucket $$($(BIN)/python -m tests.store.in_a_bucket)

$(S3): requirements/s3-servers.txt requirements/s3.txt requirements/constraints.txt $(DEV)
	$(BIN)/python -m pip install --quiet -r requirements/s3-servers.txt
	@touch $@

clean:
	rm -rf .venv .venv-jax .pytest_cache .mypy_cache .ruff_cache
