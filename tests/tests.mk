# Tests that `make test` does not run, because they take long or need an environment of their own.

SOAK_SECONDS ?= 600
SOAK_MINUTES ?= 120
BODIES ?= 10000
OPEN_STATEMENTS ?= 20000
# The versions of PostgreSQL for test-postgres-versions; all if it is empty.
VERSIONS ?=
SERVERS ?=
PSYCOPG ?=

.PHONY: test-long test-study test-vscode lint-vscode test-bodies test-open-types test-dbt test-tools test-psycopg test-drop-in test-ml test-engines
.PHONY: test-postgres-versions test-mysql-versions soak soak-functions

test-long: $(BIN)/.wheel $(BIN)/.test $(BIN)/.bench extension mariadb ## Run the tests that take a minute or more
	$(BIN)/python -m pytest --timeout=600 --numprocesses=$(TEST_PROCESSES) -m long bench/tests tests $(PYTEST_ARGS)

test-study: $(BIN)/.wheel $(BIN)/.test $(BIN)/.bench extension mariadb ## Run whole parts of the study at their smallest size (make test runs its small parts)
	$(CARGO) test --locked -p colonnade-bench
	$(BIN)/python -m pytest --timeout=600 -m study study/tests $(PYTEST_ARGS)

# The editor is an ordinary program of npm and Debian; tests/editor/installed.py compiles its native modules.
test-vscode: lint-vscode $(BIN)/.wheel $(BIN)/.test $(BIN)/.bench ## Use the extension for VS Code in a real editor: breakpoints, pictures (COLONNADE_PICTURES=folder)
	@$(call need,chromium,chromium fonts-dejavu-core)
	@command -v c++ >/dev/null && command -v make >/dev/null || $(call packages,g++ make)
	$(BIN)/python -m pytest --timeout=900 -rA tests/editor/in_editor.py $(PYTEST_ARGS)

lint-vscode: tools/vscode/out/.built ## Check the types of the extension for VS Code, and test what needs no editor
	cd tools/vscode && node --test out/test/command.test.js

test-bodies: $(BIN)/.wheel $(BIN)/.test ## Pull and push generated functions in this Python and in the newest one, and compare their bytes (BODIES=10000)
	@$(call need,patchelf,patchelf)
	$(BIN)/python -m tests.devudf.versions --count $(BODIES)

test-open-types: $(BIN)/.wheel $(BIN)/.test postgres ## Compare types and results of generated statements with PostgreSQL's (OPEN_STATEMENTS=20000)
	$(BIN)/python -m tests.serve.compare_open_types --count $(OPEN_STATEMENTS)

test-dbt: $(BIN)/.wheel $(BIN)/.test $(DBT)/.dbt ## Run dbt's models and snapshots on the server
	COLONNADE_DBT=$(abspath $(DBT)/bin/dbt) $(BIN)/python -m pytest --timeout=600 tests/clients/dbt_project.py

# No package has these tests, so that a checkout of psycopg is needed. Its options for pytest come after --.
test-psycopg: $(BIN)/.wheel $(BIN)/.test postgres ## Run psycopg's own tests on PostgreSQL and on the server (PSYCOPG=folder of its repository)
	@test -d "$(PSYCOPG)/tests" || { echo "PSYCOPG=FOLDER names a checkout of psycopg"; exit 1; }
	test -x target/psycopg/bin/python || $(PYTHON) -m venv target/psycopg
	target/psycopg/bin/python -m pip install --disable-pip-version-check --quiet "$(PSYCOPG)/psycopg[test]" "$(PSYCOPG)/psycopg_pool" pytest-timeout
	$(BIN)/python -m tests.clients.psycopg_suite "$(PSYCOPG)" --python target/psycopg/bin/python --reports target/psycopg/reports

# npm, Maven and Go install the tools of their languages. tests/tools/places.py starts both servers.
test-tools: $(BIN)/.wheel $(BIN)/.test $(TOOLS)/.tools postgres ## Run whole programs of ORMs, migration tools and loaders on the server and on PostgreSQL
	@$(call need,npm,npm)
	@$(call need,mvn,maven)
	@$(call need,go,golang)
	COLONNADE_TOOLS=$(abspath $(TOOLS)/bin/python) $(BIN)/python -m pytest --timeout=900 \
		tests/tools/of_node.py tests/tools/of_python.py tests/tools/of_java.py tests/tools/of_go.py $(PYTEST_ARGS)

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
	@$(call need,patchelf,patchelf)
	@$(call need,mvn,maven)
	$(BIN)/python -m tests.postgres.versions $(if $(VERSIONS),--only $(VERSIONS)) --processes $(TEST_PROCESSES)

# `tests/testbed/versions.py` fetches the servers into target/servers. SERVERS="mysql-9.7" runs some of them.
test-mysql-versions: $(BIN)/.wheel $(BIN)/.test mariadb ## Run the tests of mysql: URIs on other versions of MariaDB and MySQL, and print a table (SERVERS="mysql-9.7")
	@$(call need,patchelf,patchelf)
	$(BIN)/python -m tests.mysql.versions $(if $(SERVERS),--only $(SERVERS)) --processes $(TEST_PROCESSES)

soak: $(BIN)/.wheel $(BIN)/.test extension ## Run mixed load on PostgreSQL, load on the server, and load with hostile clients (SOAK_SECONDS=600 each)
	$(BIN)/python -m tests.soak.postgres --seconds $(SOAK_SECONDS)
	$(BIN)/python -m tests.soak.server --seconds $(SOAK_SECONDS)
	$(BIN)/python -m tests.soak.hostile --seconds $(SOAK_SECONDS)

soak-functions: $(BIN)/.wheel $(BIN)/.test ## Call functions in Python at random, with errors, cancellations and killed processes, for SOAK_MINUTES=120
	$(BIN)/python -m tests.soak.functions --seconds $$(($(SOAK_MINUTES) * 60))
