# Measurements: the tables of bench/RESULTS.md, and the study.

BENCH_ROUNDS ?= 5
LINKS_ROUNDS ?= 1
LINKS_ARGS ?=
WRITES_ARGS ?=
STUDY_SIZE ?= quick
STUDY_ARGS ?=
BENCH_DATA := $(or $(COLONNADE_BENCH_DATA),bench/.data)

.PHONY: bench bench-wire bench-end-to-end bench-destinations bench-postgres bench-sources bench-adbc bench-writes bench-engines
.PHONY: bench-devudf bench-limits bench-udf bench-ml bench-plans bench-growth bench-concurrency bench-links study
.PHONY: study-report

# The files in which a measurement writes its results.
outputs = --markdown $(BENCH_DATA)/$(1).md --json $(BENCH_DATA)/$(1).json

bench: bench-wire bench-end-to-end bench-destinations bench-postgres bench-sources bench-adbc bench-writes ## Measure the format and end to end, with competing systems in the same run (BENCH_ROUNDS=5)

bench-wire: $(BIN)/.wheel $(BIN)/.bench
	$(BIN)/python bench/data.py
	$(BIN)/python bench/machine.py > $(BENCH_DATA)/wire_memory.md
	$(CARGO) run --release --locked -p colonnade-bench -- --rounds $(BENCH_ROUNDS) $(call outputs,wire)
	$(BIN)/python bench/report.py wire

bench-end-to-end: $(BIN)/.wheel $(BIN)/.bench
	$(BIN)/python bench/end_to_end.py --rounds $(BENCH_ROUNDS) $(call outputs,end_to_end)
	$(BIN)/python bench/end_to_end_tables.py --rounds $(BENCH_ROUNDS) $(call outputs,end_to_end_tables)
	$(BIN)/python bench/report.py end-to-end

bench-destinations: $(BIN)/.wheel $(BIN)/.bench
	$(BIN)/python bench/destinations.py --rounds $(BENCH_ROUNDS) $(call outputs,destinations)
	$(BIN)/python bench/report.py destinations

bench-postgres: $(BIN)/.wheel $(BIN)/.bench $(PEERS)/.peers extension
	@odbcinst -q -d 2>/dev/null | grep -q PostgreSQL || $(call packages,unixodbc odbc-postgresql)
	$(BIN)/python bench/postgres_peers.py --rounds $(BENCH_ROUNDS) --peers $(PEERS)/bin/python $(call outputs,postgres)
	$(BIN)/python bench/report.py postgres

bench-sources: $(BIN)/.wheel $(BIN)/.bench $(PEERS)/.peers mariadb
	$(BIN)/python bench/sources.py --rounds $(BENCH_ROUNDS) --peers $(PEERS)/bin/python $(call outputs,sources)
	$(BIN)/python bench/report.py sources

bench-adbc: $(BIN)/.wheel $(BIN)/.adbc-wheel $(BIN)/.test $(BIN)/.bench extension
	$(BIN)/python bench/adbc_driver.py $(call outputs,adbc)
	$(BIN)/python bench/report.py adbc

bench-writes: $(BIN)/.wheel $(BIN)/.bench $(PEERS)/.peers extension mariadb ## Measure writing lineitem into each database, with competing systems; over links if this is root (BENCH_ROUNDS=5)
	@$(call need,openssl,openssl)
	@$(call need,ip,iproute2)
	$(CARGO) build --release --locked -p colonnade-shaper
	$(BIN)/python bench/writes.py --rounds $(BENCH_ROUNDS) --peers $(abspath $(PEERS)/bin/python) $(WRITES_ARGS) \
		$(call outputs,writes)
	$(BIN)/python bench/writes_links.py --rounds $(LINKS_ROUNDS) --peers $(abspath $(PEERS)/bin/python) \
		$(call outputs,writes_links)
	$(BIN)/python bench/report.py writes

# Maven gets the JDBC driver that tests/clients uses. Without Maven, Spark's own way is not measured.
bench-engines: $(BIN)/.wheel $(BIN)/.bench $(ENGINES)/.engine-peers extension java ## Measure Dask, Ray, Spark, Daft and Polars: their own ways to read PostgreSQL, against ours (BENCH_ROUNDS=5)
	$(call linked,$(ENGINES))
	$(BIN)/python bench/data.py lineitem
	mvn --quiet --batch-mode --file tests/clients/jdbc/pom.xml dependency:copy-dependencies \
		-DoutputDirectory=$(abspath $(BENCH_DATA))/jdbc || true
	PYTHONPATH=. $(BIN)/python bench/engines.py --engines $(abspath $(ENGINES)/bin/python) --rounds $(BENCH_ROUNDS) \
		--jdbc "$$(ls $(abspath $(BENCH_DATA))/jdbc/postgresql-*.jar 2>/dev/null | head -1)" $(call outputs,engines)
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
	@$(call need,openssl,openssl)
	@$(call need,ip,iproute2)
	$(BIN)/python bench/data.py lineitem
	PYTHONPATH=. $(BIN)/python bench/plans.py --rounds $(BENCH_ROUNDS) $(call outputs,plans)
	$(CARGO) build --release --locked -p colonnade-shaper
	$(SUDO) env PATH="$$PATH" PYTHONPATH=. COLONNADE_BENCH_DATA=$(abspath $(BENCH_DATA)) $(abspath $(BIN)/python) \
		bench/plans_readers.py --rounds $(BENCH_ROUNDS) $(call outputs,plans_readers)
	$(BIN)/python bench/report.py plans

bench-growth: $(BIN)/.wheel $(BIN)/.bench extension ## Measure how cost and memory grow with a result (BENCH_ROUNDS=5, GROWTH_ARGS="--scales 0.1 1 10 30")
	PYTHONPATH=. $(BIN)/python bench/growth.py --rounds $(BENCH_ROUNDS) $(GROWTH_ARGS) $(call outputs,growth)
	$(BIN)/python bench/report.py growth

bench-concurrency: $(BIN)/.wheel $(BIN)/.bench extension ## Measure 200 clients at once on the server and on PostgreSQL (BENCH_ROUNDS=5)
	$(BIN)/python bench/data.py lineitem
	PYTHONPATH=. $(BIN)/python bench/concurrency.py --rounds $(BENCH_ROUNDS) $(call outputs,concurrency)
	$(BIN)/python bench/report.py concurrency

bench-links: $(BIN)/.wheel $(BIN)/.bench $(PEERS)/.peers extension ## Measure adaptive compression and competing systems on shaped links, and draw plots (root; LINKS_ROUNDS=1, LINKS_ARGS)
	@$(call need,openssl,openssl)
	@$(call need,ip,iproute2)
	$(CARGO) build --release --locked -p colonnade-shaper
	$(SUDO) env PATH="$$PATH" COLONNADE_BENCH_DATA=$(abspath $(BENCH_DATA)) $(abspath $(BIN)/python) bench/links.py --rounds $(LINKS_ROUNDS) \
		$(call outputs,links) $(LINKS_ARGS)
	$(SUDO) env PATH="$$PATH" COLONNADE_BENCH_DATA=$(abspath $(BENCH_DATA)) $(abspath $(BIN)/python) bench/links_rivals.py --rounds $(LINKS_ROUNDS) \
		--peers $(abspath $(PEERS)/bin/python) $(call outputs,rivals)
	$(BIN)/python bench/report.py links
	$(BIN)/python bench/links_plots.py $(BENCH_DATA)/links.json $(BENCH_DATA)/rivals.json docs/explanation

study: $(BIN)/.wheel $(BIN)/.bench $(PEERS)/.peers $(ML)/.ml $(PEERS)/monetdb extension mariadb plpython ## Repeat the papers' measurements and write docs/study/index.html (root for links; STUDY_SIZE=quick)
	@$(call need,openssl,openssl)
	@$(call need,ip,iproute2)
	@odbcinst -q -d 2>/dev/null | grep -q PostgreSQL || $(call packages,unixodbc odbc-postgresql)
	@odbcinst -q -d 2>/dev/null | grep -q MariaDB || $(call packages,unixodbc odbc-mariadb)
	$(CARGO) build --release --locked -p colonnade-bench -p colonnade-shaper
	$(SUDO) env PATH="$$PATH" PYTHONPATH=bench COLONNADE_BENCH_DATA=$(abspath $(BENCH_DATA)) $(abspath $(BIN)/python) -m study \
		--size $(STUDY_SIZE) --peers $(abspath $(PEERS)/bin/python) $(STUDY_ARGS)

study-report: $(BIN)/.wheel $(BIN)/.bench ## Write docs/study/index.html of the measurements in docs/study
	PYTHONPATH=bench $(BIN)/python -m study --report-only
