# All targets work from a clone on a machine with Rust, Python 3.11 or newer and a C compiler. They install other
# requirements from Debian's package manager, and from PyPI into .venv. Only `install` installs anything elsewhere.
#
# Further targets are in the files that this one includes: tools/requirements/requirements.mk (databases, programs and
# environments), tests/tests.mk (tests that `make test` does not run), bench/bench.mk and tools/release/release.mk.

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
PYTEST_ARGS ?=
# The processes of the Python tests. A file's tests run in one of them.
TEST_PROCESSES ?= 2
SINCE ?=
# What `make check-targets` reads, and for which systems.
CHECKED_TARGETS ?= x86_64-pc-windows-gnu aarch64-apple-darwin
CHECKED_CRATES := $(addprefix -p colonnade-,wire tcp login sql client adbc interop python)

RUST := $(shell find core client -name '*.rs' -o -name '*.toml' -o -name '*.sql')
ADBC_PACKAGE := $(shell find client/adbc/python -name '*.py' -o -name py.typed)
SOURCES := Cargo.toml Cargo.lock pyproject.toml serve/pyproject.toml $(shell find core client serve python -name __pycache__ -prune -o \
	\( -name '*.rs' -o -name '*.toml' -o -name '*.py' -o -name '*.pyi' -o -name '*.sql' -o -name '*.txt' \) -print)

# All builds of the extension module use one interpreter; otherwise cargo rebuilds the module for each.
export PYO3_PYTHON := $(abspath $(BIN)/python)

.PHONY: help demo demo-postgres demo-copy demo-functions check test test-rust test-spec test-python test-pandas2 lint
.PHONY: check-targets docs fuzz fuzz-rings deny wheel install clean
.DEFAULT_GOAL := help
.NOTPARALLEL:

include tools/requirements/requirements.mk

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
	@# The crate of the benchmark of formats needs all those that it measures: `make test-study` tests it.
	$(CARGO) test --workspace --exclude colonnade-bench --locked
	RUSTC_WRAPPER=$(CURDIR)/pg/encoder/rustc-for-encoder $(CARGO) test --release --locked \
		-p colonnade-encoder --features memory-errors --test memory

test-spec: $(BIN)/.test
	$(BIN)/python spec/reference.py spec/vectors

test-python: $(BIN)/.wheel $(BIN)/.adbc-wheel $(BIN)/.test $(BIN)/.lint $(BIN)/.bench extension mariadb
	@$(call need,psql,postgresql-client)
	@$(call need,ip,iproute2)
	@$(call need,openssl,openssl)
	@PATH="$$PATH:/usr/sbin" command -v pgbouncer >/dev/null || { $(APT) update && $(APT) install pgbouncer; \
		$(SUDO) systemctl disable --now pgbouncer 2>/dev/null || true; }
	@odbcinst -q -d 2>/dev/null | grep -q PostgreSQL || $(call packages,unixodbc odbcinst odbc-postgresql)
	@odbcinst -q -d 2>/dev/null | grep -q MariaDB || $(call packages,unixodbc odbcinst odbc-mariadb)
	$(BIN)/python -m pytest --timeout=300 --numprocesses=$(TEST_PROCESSES) --dist=loadfile -m "not study and not long" $(PYTEST_ARGS)

# The same installed package as for the other tests, because none of its modules depends on pandas' version.
test-pandas2: $(BIN)/.wheel $(PANDAS2)/.pandas2 postgres
	$(call linked,$(PANDAS2))
	$(PANDAS2)/bin/python -m pytest --timeout=300 tests/destinations/test_frames.py tests/destinations/test_modin.py

lint: $(BIN)/.wheel $(BIN)/.test $(BIN)/.lint $(BIN)/.bench ## Check formatting, lints, types, and dependencies between crates and modules
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path tests/fuzz/Cargo.toml --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	RUSTC_WRAPPER=$(CURDIR)/pg/encoder/rustc-for-encoder $(CARGO) clippy -p colonnade-encoder --all-targets \
		--features memory-errors --locked -- -D warnings
	$(MAKE) --no-print-directory check-targets
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/zizmor --offline --quiet --no-progress .github/workflows
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/python -P -m mypy.stubtest colonnade._core colonnade_serve._core
	$(BIN)/python -m pytest -q --noconftest tests/repository/test_layering.py tests/repository/test_imports.py

# The crates that run on other systems, without what they are linked with. The compiler only reads them, so nothing needs
# the machine code of the C libraries among them: `true` takes the C compiler's place. `make dist-macos` and its like
# compile and link everything. A target that cannot be had is left out, which is said.
check-targets: | $(BIN)/python ## Let the compiler and clippy read the client for Windows and macOS
	@set -e; sysroot=$$(rustc --print sysroot); for target in $(CHECKED_TARGETS); do \
		test -d "$$sysroot/lib/rustlib/$$target/lib" || rustup target add $$target 2>/dev/null \
			|| { echo "check-targets: not for $$target: rustup cannot add its standard library"; continue; }; \
		name=$$(echo $$target | tr - _); export CC_$$name=true CXX_$$name=true AR_$$name=true; \
		found="$$found --target $$target"; \
	done; \
	test -z "$$found" || { set -x; $(CARGO) clippy --locked $(CHECKED_CRATES) $$found -- -D warnings; }

# Strict: a broken link, a page without a link to it, or a docstring that cannot be parsed is an error. -E reads all
# pages again, because the generated parts also depend on the code.
docs: $(BIN)/.wheel $(BIN)/.test $(BIN)/.docs ## Build the documentation's site into docs/_build
	$(BIN)/python -P -m sphinx -E -W --keep-going -q -b html docs docs/_build
	@echo 'docs/_build/index.html: written'

fuzz: target/tools/bin/cargo-fuzz $(BIN)/.wheel $(BIN)/.test extension ## Run each fuzz target, functions that write into their rings, then random statements and damaged streams on servers (FUZZ_SECONDS=30 each, FUZZ_TARGETS, FUZZ_SANITIZER, FUZZ_STREAMS)
	@$(call need,c++,g++)
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

install: wheel ## Install the wheels of colonnade and of its server for PYTHON (default python3)
	$(PYTHON) -m pip install --force-reinstall --no-deps $$(ls -t dist/colonnade-*.whl | head -n 1) $$(ls -t dist/colonnade_serve-*.whl | head -n 1)

clean: ## Remove everything that was built or generated
	rm -rf tools/vscode/out target .venv $(PEERS) $(PANDAS2) $(DBT) $(TOOLS) $(DROP_IN) $(ENGINES) $(ML) $(DIST) dist docs/_build bench/.data docs/demo/.data pg/*.so pg/src/*.o
	find . -name __pycache__ -prune -exec rm -rf {} +

include tests/tests.mk bench/bench.mk tools/release/release.mk
