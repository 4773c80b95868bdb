# All targets work from a clone on a machine with Rust, Python 3.11 or newer and a C compiler. They install other
# requirements from Debian's package manager, and from PyPI into .venv. Only `install` installs anything elsewhere.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
CARGO ?= cargo
DEMO_SF ?= 1
FUZZ_SECONDS ?= 30
FUZZ_TARGETS ?=
FUZZ_SANITIZER ?= address
# The damaged streams for each server.
FUZZ_STREAMS ?= 20000
BENCH_ROUNDS ?= 5
LINKS_ROUNDS ?= 1
LINKS_ARGS ?=
WRITES_ARGS ?=
STUDY_SIZE ?= quick
STUDY_ARGS ?=
SOAK_SECONDS ?= 600
SOAK_MINUTES ?= 120
PYTEST_ARGS ?=
BODIES ?= 10000
OPEN_STATEMENTS ?= 20000
# The processes of the Python tests. A file's tests run in one of them.
TEST_PROCESSES ?= 2
PEERS ?= .venv-peers
PANDAS2 ?= .venv-pandas2
DBT ?= .venv-dbt
DROP_IN ?= .venv-drop-in
ENGINES ?= .venv-engines
ML ?= .venv-ml
VERSION ?=
SINCE ?=
# The versions of PostgreSQL for test-postgres-versions; all if it is empty.
VERSIONS ?=
SERVERS ?=
DRY_RUN ?=
DIST ?= .venv-dist
BENCH_DATA := $(or $(COLONNADE_BENCH_DATA),bench/.data)

SUDO := $(if $(filter-out 0,$(shell id -u)),sudo)
APT := $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends
RUST := $(shell find core client -name '*.rs' -o -name '*.toml' -o -name '*.sql')
ADBC_PACKAGE := $(shell find client/adbc/python -name '*.py' -o -name py.typed)
SOURCES := Cargo.toml Cargo.lock pyproject.toml serve/pyproject.toml $(shell find core client serve python -name __pycache__ -prune -o \
	\( -name '*.rs' -o -name '*.toml' -o -name '*.py' -o -name '*.pyi' -o -name '*.sql' -o -name '*.txt' \) -print)

# All builds of the extension module use one interpreter; otherwise cargo rebuilds the module for each.
export PYO3_PYTHON := $(abspath $(BIN)/python)

# The newest PostgreSQL of Debian, or the one in the PATH. It is looked up each time, because a rule may have installed it.
export PG_CONFIG ?= $(or $(shell ls /usr/lib/postgresql/*/bin/pg_config 2>/dev/null | sort -V | tail -n 1),pg_config)

.PHONY: help check demo demo-postgres demo-copy demo-functions test test-rust test-spec test-python test-pandas2 test-dbt test-drop-in soak soak-functions lint bench
.PHONY: bench-wire bench-end-to-end test-postgres-versions test-mysql-versions test-release record deb test-deb docs test-engines test-ml bench-postgres
.PHONY: bench-udf fuzz-rings bench-ml bench-sources bench-adbc bench-writes bench-links bench-plans bench-engines bench-growth bench-concurrency study study-report fuzz deny wheel dist dist-aarch64
.PHONY: test-study test-dist test-dist-aarch64 release release-prepare release-tag
.PHONY: install clean postgres plpython extension mariadb java test-vscode lint-vscode vscode test-bodies test-open-types bench-devudf bench-limits
.DEFAULT_GOAL := help
.NOTPARALLEL:

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(BIN)/.wheel $(BIN)/.bench ## Build, generate lineitem (DEMO_SF=1), serve it, read it over TCP and a unix socket, check every value
	$(BIN)/python docs/demo/demo.py --scale $(DEMO_SF)

demo-postgres: $(BIN)/.wheel $(BIN)/.bench extension ## Start a private PostgreSQL, read lineitem by COPY text, COPY binary and colonnade (DEMO_SF=1)
	$(BIN)/python docs/demo/demo_postgres.py --scale $(DEMO_SF)

demo-copy: $(BIN)/.wheel $(BIN)/.bench postgres mariadb ## Copy lineitem from PostgreSQL to MariaDB, SQLite, the server and back, and check every value (DEMO_SF=1)
	$(BIN)/python docs/demo/demo_copy.py --scale $(DEMO_SF)

demo-functions: $(BIN)/.wheel $(BIN)/.bench plpython ## Run functions in Python on lineitem, beside plain SQL, DuckDB's own functions in Python and PL/Python (DEMO_SF=1)
	$(BIN)/python docs/demo/demo_functions.py --scale $(DEMO_SF)

check: $(BIN)/.wheel $(BIN)/.test $(BIN)/.lint $(BIN)/.bench ## Check what has changed, in less than a minute for most changes (SINCE=commit)
	$(BIN)/python -m tools.check $(if $(SINCE),--since $(SINCE))

test: test-rust test-spec test-python test-pandas2 ## Run all tests

test-rust: $(BIN)/.test
	$(CARGO) test --workspace --locked
	RUSTC_WRAPPER=$(CURDIR)/pg/encoder/rustc-for-encoder $(CARGO) test --release --locked \
		-p colonnade-encoder --features memory-errors --test memory

test-spec: $(BIN)/.test
	$(BIN)/python spec/reference.py spec/vectors

test-python: $(BIN)/.wheel $(BIN)/.adbc-wheel $(BIN)/.test $(BIN)/.lint $(BIN)/.bench extension mariadb
	@command -v psql >/dev/null || { $(APT) update && $(APT) install postgresql-client; }
	@command -v ip >/dev/null || { $(APT) update && $(APT) install iproute2; }
	@command -v openssl >/dev/null || { $(APT) update && $(APT) install openssl; }
	@PATH="$$PATH:/usr/sbin" command -v pgbouncer >/dev/null || { $(APT) update && $(APT) install pgbouncer; \
		$(SUDO) systemctl disable --now pgbouncer 2>/dev/null || true; }
	@odbcinst -q -d 2>/dev/null | grep -q PostgreSQL || { $(APT) update && $(APT) install unixodbc odbcinst odbc-postgresql; }
	@odbcinst -q -d 2>/dev/null | grep -q MariaDB || { $(APT) update && $(APT) install unixodbc odbcinst odbc-mariadb; }
	$(BIN)/python -m pytest --timeout=300 --numprocesses=$(TEST_PROCESSES) --dist=loadfile -m "not study" $(PYTEST_ARGS)

test-study: $(BIN)/.wheel $(BIN)/.test $(BIN)/.bench extension mariadb ## Run whole parts of the study at their smallest size (make test runs its small parts)
	$(BIN)/python -m pytest --timeout=600 -m study study/tests $(PYTEST_ARGS)

# The editor is an ordinary program of npm and Debian; tests/editor/installed.py compiles its native modules.
test-vscode: lint-vscode $(BIN)/.wheel $(BIN)/.test $(BIN)/.bench ## Use the extension for VS Code in a real editor: breakpoints, pictures (COLONNADE_PICTURES=folder)
	@command -v chromium >/dev/null || { $(APT) update && $(APT) install chromium fonts-dejavu-core; }
	@command -v c++ >/dev/null && command -v make >/dev/null || { $(APT) update && $(APT) install g++ make; }
	$(BIN)/python -m pytest --timeout=900 -rA tests/editor/in_editor.py $(PYTEST_ARGS)

test-bodies: $(BIN)/.wheel $(BIN)/.test ## Pull and push generated functions in this Python and in the newest one, and compare their bytes (BODIES=10000)
	@command -v patchelf >/dev/null || { $(APT) update && $(APT) install patchelf; }
	$(BIN)/python -m tests.devudf.versions --count $(BODIES)

test-open-types: $(BIN)/.wheel $(BIN)/.test postgres ## Compare types and results of generated statements with PostgreSQL's (OPEN_STATEMENTS=20000)
	$(BIN)/python -m tests.serve.compare_open_types --count $(OPEN_STATEMENTS)

lint-vscode: tools/vscode/out/.built ## Check the types of the extension for VS Code, and test what needs no editor
	cd tools/vscode && node --test out/test/command.test.js

vscode: tools/vscode/out/.built | $(BIN)/python ## Build the extension for VS Code into dist/, a file that editors install
	$(BIN)/python -m tools.release.vsix

tools/vscode/out/.built: tools/vscode/package-lock.json tools/vscode/tsconfig.json $(wildcard tools/vscode/src/*.ts tools/vscode/test/*.ts)
	@command -v npm >/dev/null || { $(APT) update && $(APT) install nodejs npm; }
	cd tools/vscode && npm ci --no-audit --no-fund --ignore-scripts --loglevel=error && rm -rf out && node_modules/.bin/tsc -p .
	@touch $@

# The same installed package as for the other tests, because none of its modules depends on pandas' version.
test-pandas2: $(BIN)/.wheel $(PANDAS2)/.pandas2 postgres
	$(call linked,$(PANDAS2))
	$(PANDAS2)/bin/python -m pytest --timeout=300 tests/destinations/test_frames.py tests/destinations/test_modin.py

test-dbt: $(BIN)/.wheel $(BIN)/.test $(DBT)/.dbt ## Run dbt's models and snapshots on the server
	COLONNADE_DBT=$(abspath $(DBT)/bin/dbt) $(BIN)/python -m pytest --timeout=600 tests/clients/dbt_project.py

test-drop-in: $(BIN)/.wheel $(DROP_IN)/.drop-in postgres mariadb ## Run ordinary scripts under pandas, ConnectorX and Colonnade, and print docs/how-to/drop-in.md's table
	$(call linked,$(DROP_IN))
	$(DROP_IN)/bin/python -m pytest --timeout=300 tests/drop_in/test_scripts.py
	$(DROP_IN)/bin/python -m tests.drop_in.evidence

test-ml: $(BIN)/.wheel $(BIN)/.test $(BIN)/.bench $(ML)/.ml postgres ## Train, store and apply models in the server, by scikit-learn and ONNX
	$(call linked,$(ML))
	$(ML)/bin/python -m pytest --timeout=300 tests/ml "tests/repository/test_docs.py::test_lessons_run_and_print_what_they_say[docs/tutorial/machine-learning.md]" $(PYTEST_ARGS)
	COLONNADE_STUDY_ML=$(abspath $(ML)/bin/python) $(BIN)/python -m pytest --timeout=600 study/tests/test_study_voters.py $(PYTEST_ARGS)

# Each engine in a process of its own, because Ray and Spark change the process that starts them.
test-engines: $(BIN)/.wheel $(ENGINES)/.engines extension java ## Read into Dask, Ray, Spark and Daft on local clusters
	$(call linked,$(ENGINES))
	set -e; for engine in dask_cluster ray_cluster spark_cluster spark_executors daft_runner daft_on_ray; do \
		$(ENGINES)/bin/python -m pytest --timeout=300 -W default tests/engines/$$engine.py $(PYTEST_ARGS); \
	done

# Of a machine with Debian 12. `tests/testbed/versions.py` fetches the other versions into target/servers.
test-postgres-versions: $(BIN)/.wheel $(BIN)/.test extension ## Run the extension's tests on PostgreSQL 15 to 19, and print a table (VERSIONS="17 18")
	@command -v patchelf >/dev/null || { $(APT) update && $(APT) install patchelf; }
	@command -v mvn >/dev/null || { $(APT) update && $(APT) install maven; }
	$(BIN)/python -m tests.postgres.versions $(if $(VERSIONS),--only $(VERSIONS)) --processes $(TEST_PROCESSES)

# `tests/testbed/versions.py` fetches the servers into target/servers. SERVERS="mysql-9.7" runs some of them.
test-mysql-versions: $(BIN)/.wheel $(BIN)/.test mariadb ## Run the tests of mysql: URIs on other versions of MariaDB and MySQL, and print a table (SERVERS="mysql-9.7")
	@command -v patchelf >/dev/null || { $(APT) update && $(APT) install patchelf; }
	$(BIN)/python -m tests.mysql.versions $(if $(SERVERS),--only $(SERVERS)) --processes $(TEST_PROCESSES)

soak: $(BIN)/.wheel $(BIN)/.test extension ## Run mixed load on PostgreSQL, load on the server, and load with hostile clients (SOAK_SECONDS=600 each)
	$(BIN)/python -m tests.soak.postgres --seconds $(SOAK_SECONDS)
	$(BIN)/python -m tests.soak.server --seconds $(SOAK_SECONDS)
	$(BIN)/python -m tests.soak.hostile --seconds $(SOAK_SECONDS)

soak-functions: $(BIN)/.wheel $(BIN)/.test ## Call functions in Python at random, with errors, cancellations and killed processes, for SOAK_MINUTES=120
	$(BIN)/python -m tests.soak.functions --seconds $$(($(SOAK_MINUTES) * 60))

lint: $(BIN)/.wheel $(BIN)/.test $(BIN)/.lint $(BIN)/.bench ## Check formatting, lints, types, and dependencies between crates and modules
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path tests/fuzz/Cargo.toml --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	RUSTC_WRAPPER=$(CURDIR)/pg/encoder/rustc-for-encoder $(CARGO) clippy -p colonnade-encoder --all-targets \
		--features memory-errors --locked -- -D warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/python -P -m mypy.stubtest colonnade._core colonnade_serve._core
	$(BIN)/python -m pytest -q --noconftest tests/repository/test_layering.py tests/repository/test_rooms.py

bench: bench-wire bench-end-to-end bench-postgres bench-sources bench-adbc bench-writes ## Measure the format and end to end, with competing systems in the same run (BENCH_ROUNDS=5)

bench-wire: $(BIN)/.wheel $(BIN)/.bench
	$(BIN)/python bench/data.py
	$(BIN)/python bench/machine.py > $(BENCH_DATA)/wire_memory.md
	$(CARGO) run --release --locked -p colonnade-bench -- --rounds $(BENCH_ROUNDS) \
		--markdown $(BENCH_DATA)/wire.md --json $(BENCH_DATA)/wire.json
	$(BIN)/python bench/report.py wire

bench-end-to-end: $(BIN)/.wheel $(BIN)/.bench
	$(BIN)/python bench/end_to_end.py --rounds $(BENCH_ROUNDS) \
		--markdown $(BENCH_DATA)/end_to_end.md --json $(BENCH_DATA)/end_to_end.json
	$(BIN)/python bench/end_to_end_tables.py --rounds $(BENCH_ROUNDS) \
		--markdown $(BENCH_DATA)/end_to_end_tables.md --json $(BENCH_DATA)/end_to_end_tables.json
	$(BIN)/python bench/report.py end-to-end

bench-postgres: $(BIN)/.wheel $(BIN)/.bench $(PEERS)/.peers extension
	@odbcinst -q -d 2>/dev/null | grep -q PostgreSQL || { $(APT) update && $(APT) install unixodbc odbc-postgresql; }
	$(BIN)/python bench/postgres_peers.py --rounds $(BENCH_ROUNDS) --peers $(PEERS)/bin/python \
		--markdown $(BENCH_DATA)/postgres.md --json $(BENCH_DATA)/postgres.json
	$(BIN)/python bench/report.py postgres

bench-sources: $(BIN)/.wheel $(BIN)/.bench $(PEERS)/.peers mariadb
	$(BIN)/python bench/sources.py --rounds $(BENCH_ROUNDS) --peers $(PEERS)/bin/python \
		--markdown $(BENCH_DATA)/sources.md --json $(BENCH_DATA)/sources.json
	$(BIN)/python bench/report.py sources

bench-adbc: $(BIN)/.wheel $(BIN)/.adbc-wheel $(BIN)/.test $(BIN)/.bench extension
	$(BIN)/python bench/adbc_driver.py --markdown $(BENCH_DATA)/adbc.md --json $(BENCH_DATA)/adbc.json
	$(BIN)/python bench/report.py adbc

bench-writes: $(BIN)/.wheel $(BIN)/.bench $(PEERS)/.peers extension mariadb ## Measure writing lineitem into each database, with competing systems; over links if this is root (BENCH_ROUNDS=5)
	@command -v openssl >/dev/null || { $(APT) update && $(APT) install openssl; }
	@command -v ip >/dev/null || { $(APT) update && $(APT) install iproute2; }
	$(CARGO) build --release --locked -p colonnade-shaper
	$(BIN)/python bench/writes.py --rounds $(BENCH_ROUNDS) --peers $(abspath $(PEERS)/bin/python) $(WRITES_ARGS) \
		--markdown $(BENCH_DATA)/writes.md --json $(BENCH_DATA)/writes.json
	$(BIN)/python bench/writes_links.py --rounds $(LINKS_ROUNDS) --peers $(abspath $(PEERS)/bin/python) \
		--markdown $(BENCH_DATA)/writes_links.md --json $(BENCH_DATA)/writes_links.json
	$(BIN)/python bench/report.py writes

# Maven gets the JDBC driver that tests/clients uses. Without Maven, Spark's own way is not measured.
bench-engines: $(BIN)/.wheel $(BIN)/.bench $(ENGINES)/.engine-peers extension java ## Measure Dask, Ray, Spark, Daft and Polars: their own ways to read PostgreSQL, against ours (BENCH_ROUNDS=5)
	$(call linked,$(ENGINES))
	$(BIN)/python bench/data.py lineitem
	mvn --quiet --batch-mode --file tests/clients/jdbc/pom.xml dependency:copy-dependencies \
		-DoutputDirectory=$(abspath $(BENCH_DATA))/jdbc || true
	PYTHONPATH=. $(BIN)/python bench/engines.py --engines $(abspath $(ENGINES)/bin/python) --rounds $(BENCH_ROUNDS) \
		--jdbc "$$(ls $(abspath $(BENCH_DATA))/jdbc/postgresql-*.jar 2>/dev/null | head -1)" \
		--markdown $(BENCH_DATA)/engines.md --json $(BENCH_DATA)/engines.json
	$(BIN)/python bench/report.py engines

bench-devudf: $(BIN)/.wheel $(BIN)/.test $(BIN)/.bench ## Measure the way from a failing query to a stopped breakpoint, and the inputs of a function (BENCH_ROUNDS=5)
	@mkdir -p $(BENCH_DATA)
	$(BIN)/python bench/devudf.py --rounds $(BENCH_ROUNDS) --markdown $(BENCH_DATA)/devudf.md

bench-limits: $(BIN)/.wheel $(BIN)/.bench ## Measure the server's own work for statements and results at its limits
	@mkdir -p $(BENCH_DATA)
	$(BIN)/python bench/limits.py --markdown $(BENCH_DATA)/limits.md

bench-udf: $(BIN)/.wheel $(BIN)/.test $(BIN)/.bench plpython ## Measure functions in Python: in plans, in short statements, at their limits, beside those of other databases (BENCH_ROUNDS=5)
	@mkdir -p $(BENCH_DATA)
	$(BIN)/python bench/udf.py --rounds $(BENCH_ROUNDS) --markdown $(BENCH_DATA)/udf.md
	$(BIN)/python bench/udf_rivals.py --rounds $(BENCH_ROUNDS) --markdown $(BENCH_DATA)/udf_rivals.md
	$(BIN)/python bench/udf_limits.py --markdown $(BENCH_DATA)/udf_limits.md
	$(BIN)/python bench/udf_short.py --pairs 2000 --markdown $(BENCH_DATA)/udf_short.md

bench-ml: $(BIN)/.wheel $(BIN)/.bench $(ML)/.ml ## Measure training and predicting in the database, against scikit-learn on arrays in memory (BENCH_ROUNDS=5)
	@mkdir -p $(BENCH_DATA)
	$(call linked,$(ML))
	$(ML)/bin/python bench/ml.py --rounds $(BENCH_ROUNDS) --markdown $(BENCH_DATA)/ml.md

bench-plans: $(BIN)/.wheel $(BIN)/.bench ## Measure what a spooled result and its readers cost the server, and what several readers gain (root, for links; BENCH_ROUNDS=5)
	@command -v openssl >/dev/null || { $(APT) update && $(APT) install openssl; }
	@command -v ip >/dev/null || { $(APT) update && $(APT) install iproute2; }
	$(BIN)/python bench/data.py lineitem
	PYTHONPATH=. $(BIN)/python bench/plans.py --rounds $(BENCH_ROUNDS) \
		--markdown $(BENCH_DATA)/plans.md --json $(BENCH_DATA)/plans.json
	$(CARGO) build --release --locked -p colonnade-shaper
	$(SUDO) env PATH="$$PATH" PYTHONPATH=. COLONNADE_BENCH_DATA=$(abspath $(BENCH_DATA)) $(abspath $(BIN)/python) \
		bench/plans_readers.py --rounds $(BENCH_ROUNDS) \
		--markdown $(BENCH_DATA)/plans_readers.md --json $(BENCH_DATA)/plans_readers.json
	$(BIN)/python bench/report.py plans

bench-growth: $(BIN)/.wheel $(BIN)/.bench extension ## Measure how cost and memory grow with a result (BENCH_ROUNDS=5, GROWTH_ARGS="--scales 0.1 1 10 30")
	PYTHONPATH=. $(BIN)/python bench/growth.py --rounds $(BENCH_ROUNDS) $(GROWTH_ARGS) \
		--markdown $(BENCH_DATA)/growth.md --json $(BENCH_DATA)/growth.json
	$(BIN)/python bench/report.py growth

bench-concurrency: $(BIN)/.wheel $(BIN)/.bench extension ## Measure 200 clients at once on the server and on PostgreSQL (BENCH_ROUNDS=5)
	$(BIN)/python bench/data.py lineitem
	PYTHONPATH=. $(BIN)/python bench/concurrency.py --rounds $(BENCH_ROUNDS) \
		--markdown $(BENCH_DATA)/concurrency.md --json $(BENCH_DATA)/concurrency.json
	$(BIN)/python bench/report.py concurrency

bench-links: $(BIN)/.wheel $(BIN)/.bench $(PEERS)/.peers extension ## Measure adaptive compression and competing systems on shaped links, and draw plots (root; LINKS_ROUNDS=1, LINKS_ARGS)
	@command -v openssl >/dev/null || { $(APT) update && $(APT) install openssl; }
	@command -v ip >/dev/null || { $(APT) update && $(APT) install iproute2; }
	$(CARGO) build --release --locked -p colonnade-shaper
	$(SUDO) env PATH="$$PATH" COLONNADE_BENCH_DATA=$(abspath $(BENCH_DATA)) $(abspath $(BIN)/python) bench/links.py --rounds $(LINKS_ROUNDS) \
		--markdown $(BENCH_DATA)/links.md --json $(BENCH_DATA)/links.json $(LINKS_ARGS)
	$(SUDO) env PATH="$$PATH" COLONNADE_BENCH_DATA=$(abspath $(BENCH_DATA)) $(abspath $(BIN)/python) bench/links_rivals.py --rounds $(LINKS_ROUNDS) \
		--peers $(abspath $(PEERS)/bin/python) --markdown $(BENCH_DATA)/rivals.md --json $(BENCH_DATA)/rivals.json
	$(BIN)/python bench/report.py links
	$(BIN)/python bench/links_plots.py $(BENCH_DATA)/links.json $(BENCH_DATA)/rivals.json docs/explanation

# Strict: a broken link, a page without a link to it, or a docstring that cannot be parsed is an error. -E reads all
# pages again, because the generated parts also depend on the code.
docs: $(BIN)/.wheel $(BIN)/.test $(BIN)/.docs ## Build the documentation's site into docs/_build
	$(BIN)/python -P -m sphinx -E -W --keep-going -q -b html docs docs/_build
	@echo 'docs/_build/index.html: written'

study: $(BIN)/.wheel $(BIN)/.bench $(PEERS)/.peers $(ML)/.ml $(PEERS)/monetdb extension mariadb plpython ## Repeat the papers' measurements and write docs/study/index.html (root for links; STUDY_SIZE=quick)
	@command -v openssl >/dev/null || { $(APT) update && $(APT) install openssl; }
	@command -v ip >/dev/null || { $(APT) update && $(APT) install iproute2; }
	@odbcinst -q -d 2>/dev/null | grep -q PostgreSQL || { $(APT) update && $(APT) install unixodbc odbc-postgresql; }
	@odbcinst -q -d 2>/dev/null | grep -q MariaDB || { $(APT) update && $(APT) install unixodbc odbc-mariadb; }
	$(CARGO) build --release --locked -p colonnade-bench -p colonnade-shaper
	$(SUDO) env PATH="$$PATH" PYTHONPATH=bench COLONNADE_BENCH_DATA=$(abspath $(BENCH_DATA)) $(abspath $(BIN)/python) -m study \
		--size $(STUDY_SIZE) --peers $(abspath $(PEERS)/bin/python) $(STUDY_ARGS)

study-report: $(BIN)/.wheel $(BIN)/.bench ## Write docs/study/index.html of the measurements in docs/study
	PYTHONPATH=bench $(BIN)/python -m study --report-only

fuzz: target/tools/bin/cargo-fuzz $(BIN)/.wheel $(BIN)/.test extension ## Run each fuzz target, functions that write into their rings, then random statements and damaged streams on servers (FUZZ_SECONDS=30 each, FUZZ_TARGETS, FUZZ_SANITIZER, FUZZ_STREAMS)
	@command -v c++ >/dev/null || { $(APT) update && $(APT) install g++; }
	$(PYTHON) tests/fuzz/seeds.py
	@# The sanitizers' flags are unstable options, which the stable compiler accepts only with RUSTC_BOOTSTRAP.
	@set -e; export RUSTC_BOOTSTRAP=1 PATH="$(CURDIR)/target/tools/bin:$$PATH" LSAN_OPTIONS="suppressions=$(CURDIR)/tests/fuzz/leaks.supp"; \
	for target in $(or $(FUZZ_TARGETS),$$($(CARGO) fuzz list --fuzz-dir tests/fuzz)); do \
		echo "== $$target"; \
		$(CARGO) fuzz run --fuzz-dir tests/fuzz --sanitizer $(FUZZ_SANITIZER) $$target -- -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=4096; \
	done
	$(MAKE) --no-print-directory fuzz-rings
	$(BIN)/python -m tests.attacks.fuzz_statements --seconds $(FUZZ_SECONDS)
	$(BIN)/python -m tests.attacks.fuzz_streams --streams $(FUZZ_STREAMS)

fuzz-rings: $(BIN)/python
	RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=$(FUZZ_SANITIZER) -Cunsafe-allow-abi-mismatch=sanitizer" COLONNADE_HOSTILE_CALLS=400 \
		$(CARGO) test --locked -p colonnade-udf --test hostile --target "$$(rustc -vV | sed -n 's/^host: //p')" --target-dir target/sanitized

deny: target/tools/bin/cargo-deny ## Check licences, sources and advisories of the dependencies
	target/tools/bin/cargo-deny check

target/tools/bin/cargo-deny:
	$(CARGO) install cargo-deny --version 0.20.2 --locked --root target/tools

target/tools/bin/cargo-fuzz:
	$(CARGO) install cargo-fuzz --version 0.13.2 --locked --root target/tools

wheel: $(BIN)/.build ## Build the wheels of colonnade, of its server and of its ADBC driver into dist/
	$(BIN)/maturin build --release --locked --out dist
	cd serve && $(abspath $(BIN)/maturin) build --release --locked --out ../dist
	$(BIN)/python -m pip wheel --disable-pip-version-check --quiet --no-build-isolation --no-deps --wheel-dir dist ./client/adbc/python

dist: dist/SHA256SUMS ## Build what is shipped into dist/: wheels for manylinux2014, source distribution, the extension for VS Code, debug information, components, checksums

dist/SHA256SUMS: $(SOURCES) $(RUST) $(ADBC_PACKAGE) $(wildcard tools/release/*.py) README.md tools/vscode/out/.built | $(DIST)/.dist
	@command -v objcopy >/dev/null || { $(APT) update && $(APT) install binutils; }
	$(DIST)/bin/python -m tools.release.dist

dist-aarch64: dist/SHA256SUMS ## Build the wheels for Linux on ARM into dist/aarch64/, compiled here by zig
	@command -v aarch64-linux-gnu-objcopy >/dev/null || { $(APT) update && $(APT) install binutils-aarch64-linux-gnu; }
	@test -d "$$(rustc --print sysroot)/lib/rustlib/aarch64-unknown-linux-gnu" || rustup target add aarch64-unknown-linux-gnu
	$(DIST)/bin/python -m tools.release.dist --machine aarch64

test-dist: dist/SHA256SUMS $(BIN)/.wheel $(BIN)/.test $(BIN)/.build postgres mariadb java ## Install what is shipped into environments without compilers, and use it there
	@command -v patchelf >/dev/null || { $(APT) update && $(APT) install patchelf; }
	$(BIN)/python -m pytest --timeout=3600 -rA tests/dist/shipped_files.py tests/dist/shipped_package.py tests/dist/shipped_versions.py tests/dist/shipped_upgrade.py

test-dist-aarch64: $(BIN)/.wheel $(BIN)/.test ## Use the wheels for Linux on ARM in a Python that qemu runs
	@command -v qemu-aarch64 >/dev/null || { $(APT) update && $(APT) install qemu-user; }
	$(BIN)/python -m pytest --timeout=3600 -rA tests/dist/shipped_files.py tests/dist/shipped_aarch64.py

# The extension for the versions of PostgreSQL of which this Debian has headers.
deb: $(BIN)/python ## Build the extension's Debian packages into target/debian/
	@dpkg-query -W debhelper lintian postgresql-server-dev-all >/dev/null 2>&1 || { $(APT) update && \
		$(APT) install debhelper lintian dpkg-dev postgresql-server-dev-all; }
	$(BIN)/python -m tools.release.debian

test-deb: $(BIN)/.wheel $(BIN)/.test ## Install, upgrade, test and remove the extension's Debian package in a Debian of its own (root)
	@dpkg-query -W debhelper lintian postgresql-server-dev-all mmdebstrap autopkgtest >/dev/null 2>&1 || { $(APT) update && \
		$(APT) install debhelper lintian dpkg-dev postgresql-server-dev-all mmdebstrap autopkgtest; }
	$(SUDO) env PATH="$$PATH" CARGO_HOME="$${CARGO_HOME:-$$HOME/.cargo}" $(abspath $(BIN)/python) -m pytest --timeout=3600 -rA tests/dist/debian_package.py

# Its steps are targets as well, so that a release can be continued where it has stopped.
release: release-prepare ## Make a release: VERSION=1.2.3 into every place, build, test and record what is shipped, tag (DRY_RUN=1 shows the changes)
ifeq ($(DRY_RUN),)
	$(MAKE) --no-print-directory dist dist-aarch64 test-dist test-dist-aarch64 record
	$(MAKE) --no-print-directory release-tag VERSION="$(VERSION)"
endif

release-prepare: $(BIN)/python
	$(BIN)/python -m tools.release.publish prepare "$(VERSION)" $(if $(DRY_RUN),--dry-run)

release-tag: $(BIN)/python
	$(BIN)/python -m tools.release.publish tag "$(VERSION)"

# By the wheel of dist/ in an environment of its own, and the extension of this checkout.
record: dist/SHA256SUMS $(BIN)/.test extension ## Record the conversations of the release in dist/, for tests of later ones
	rm -rf target/released
	$(PYTHON) -m venv target/released
	target/released/bin/python -m pip install --disable-pip-version-check --quiet --find-links dist "$$(ls dist/colonnade-*-manylinux2014_x86_64.*.whl)[serve,pyarrow]"
	PYTHONPATH=spec $(BIN)/python -m tests.compatibility.record --python $(abspath target/released/bin/python)

test-release: test lint deny dist dist-aarch64 test-dist test-dist-aarch64 deb test-deb test-postgres-versions test-mysql-versions ## Run all checks of a release, for example of a tag that is checked out (root, hours)

install: wheel ## Install the wheels of colonnade and of its server for PYTHON (default python3)
	$(PYTHON) -m pip install --force-reinstall --no-deps $$(ls -t dist/colonnade-*.whl | head -n 1) $$(ls -t dist/colonnade_serve-*.whl | head -n 1)

clean: ## Remove everything that was built or generated
	rm -rf tools/vscode/out target .venv $(PEERS) $(PANDAS2) $(DBT) $(DROP_IN) $(ENGINES) $(ML) $(DIST) dist docs/_build bench/.data docs/demo/.data pg/*.so pg/src/*.o
	find . -name __pycache__ -prune -exec rm -rf {} +

# PostgreSQL and its extension. The configuration file stops Debian's package from creating and starting its own cluster.
postgres:
	@test -e "$$($(PG_CONFIG) --includedir-server 2>/dev/null)/postgres.h" -a -x "$$($(PG_CONFIG) --bindir 2>/dev/null)/initdb" || { set -e; \
		told=/etc/postgresql-common/createcluster.d/colonnade.conf; trap "$(SUDO) rm -f $$told" EXIT; \
		$(SUDO) mkdir -p $${told%/*}; echo 'create_main_cluster = false' | $(SUDO) tee $$told >/dev/null; \
		$(APT) update; $(APT) install postgresql; \
		$(APT) install postgresql-server-dev-$$(ls /usr/lib/postgresql | sort -n | tail -n 1); }

# Spark needs a Java runtime.
java:
	@command -v java >/dev/null || { $(APT) update && $(APT) install default-jre-headless; }

# Debian's package starts its own server. If MariaDB was not installed before, this server is stopped.
mariadb:
	@PATH="$$PATH:/usr/sbin" command -v mariadbd >/dev/null || { $(APT) update && $(APT) install mariadb-server; \
		$(SUDO) systemctl disable --now mariadb 2>/dev/null || true; }
	@command -v openssl >/dev/null || { $(APT) update && $(APT) install openssl; }

# PL/Python runs Debian's interpreter.
plpython: postgres
	@test -e "$$($(PG_CONFIG) --pkglibdir)/plpython3.so" && /usr/bin/python3 -c 'import numpy' 2>/dev/null || { $(APT) update && \
		$(APT) install python3-numpy postgresql-plpython3-$$($(PG_CONFIG) --version | sed -E 's/[^0-9]*([0-9]+).*/\1/'); }

extension: postgres
	$(MAKE) --no-print-directory -C pg

# Lets another environment import the installed packages.
linked = for package in colonnade colonnade_serve; do \
	ln -sfn "$$($(BIN)/python -P -c "import $$package; print($$package.__path__[0])")" \
		"$$($(1)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/$$package"; done

# The environment. A file .NAME in it records that the packages of tools/requirements/NAME.txt are installed.

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo 'Python 3.11 or newer is needed: make PYTHON=…'; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { $(APT) update && $(APT) install python3-venv; }
	$(PYTHON) -m venv $(VENV)

$(BIN)/.%: tools/requirements/%.txt | $(BIN)/python
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -r $<
	@touch $@

$(BIN)/.wheel: $(SOURCES) | $(BIN)/.build
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m pip install --disable-pip-version-check --quiet \
		--no-build-isolation --no-deps --force-reinstall . ./serve
	@touch $@

# The ADBC driver. The first wheel's build has compiled most crates that it depends on.
$(BIN)/.adbc-wheel: Cargo.toml Cargo.lock $(RUST) $(ADBC_PACKAGE) | $(BIN)/.build $(BIN)/.wheel
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-build-isolation --no-deps --force-reinstall ./client/adbc/python
	@touch $@

$(PEERS)/.peers: tools/requirements/peers.txt
$(PANDAS2)/.pandas2: tools/requirements/pandas2.txt
$(DBT)/.dbt: tools/requirements/dbt.txt
$(DROP_IN)/.drop-in: tools/requirements/drop-in.txt
$(ENGINES)/.engines: tools/requirements/engines.txt
$(ML)/.ml: tools/requirements/ml.txt
$(DIST)/.dist: tools/requirements/dist.txt
$(PEERS)/.peers $(PANDAS2)/.pandas2 $(DBT)/.dbt $(DROP_IN)/.drop-in $(ENGINES)/.engines $(ML)/.ml $(DIST)/.dist: | $(BIN)/python
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --disable-pip-version-check --quiet -r $<
	@touch $@

$(ENGINES)/.engine-peers: tools/requirements/engine-peers.txt $(ENGINES)/.engines
	$(@D)/bin/python -m pip install --disable-pip-version-check --quiet -r $<
	@touch $@

# The package's libraries work with any version of Python; its extension module does not. Without the package, the study says so.
$(PEERS)/monetdb: tools/requirements/monetdb.txt | $(PEERS)/.peers
	$(@D)/bin/python -m pip install --disable-pip-version-check --quiet --no-deps --only-binary=:all: --upgrade --target $@ \
		--python-version 3.10 --implementation cp --abi cp310 --platform manylinux_2_17_$$(uname -m) -r $< || mkdir -p $@
	@touch $@
