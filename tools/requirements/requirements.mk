# What other targets need: programs and databases from Debian's package manager, and Python environments.

PEERS ?= .venv-peers
PANDAS2 ?= .venv-pandas2
DBT ?= .venv-dbt
TOOLS ?= .venv-tools
DROP_IN ?= .venv-drop-in
ENGINES ?= .venv-engines
ML ?= .venv-ml
DIST ?= .venv-dist

SUDO := $(if $(filter-out 0,$(shell id -u)),sudo)
APT := $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends
# `packages` installs packages of Debian; `need` does so only if a program is missing.
packages = { $(APT) update && $(APT) install $(1); }
need = command -v $(1) >/dev/null || $(call packages,$(2))

# Lets another environment (a folder) import the installed packages.
linked = for package in colonnade colonnade_serve; do \
	ln -sfn "$$($(BIN)/python -P -c "import $$package; print($$package.__path__[0])")" \
		"$$($(1)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/$$package"; done

# The newest PostgreSQL of Debian, or the one in the PATH. It is looked up each time, because a rule may have installed it.
export PG_CONFIG ?= $(or $(shell ls /usr/lib/postgresql/*/bin/pg_config 2>/dev/null | sort -V | tail -n 1),pg_config)

.PHONY: postgres java mariadb plpython extension

# PostgreSQL and its extension. The configuration file stops Debian's package from creating and starting its own cluster.
postgres:
	@test -e "$$($(PG_CONFIG) --includedir-server 2>/dev/null)/postgres.h" -a -x "$$($(PG_CONFIG) --bindir 2>/dev/null)/initdb" || { set -e; \
		told=/etc/postgresql-common/createcluster.d/colonnade.conf; trap "$(SUDO) rm -f $$told" EXIT; \
		$(SUDO) mkdir -p $${told%/*}; echo 'create_main_cluster = false' | $(SUDO) tee $$told >/dev/null; \
		$(APT) update; $(APT) install postgresql; \
		$(APT) install postgresql-server-dev-$$(ls /usr/lib/postgresql | sort -n | tail -n 1); }

# Spark needs a Java runtime.
java:
	@$(call need,java,default-jre-headless)

# Debian's package starts its own server. If MariaDB was not installed before, this server is stopped.
mariadb:
	@PATH="$$PATH:/usr/sbin" command -v mariadbd >/dev/null || { $(APT) update && $(APT) install mariadb-server; \
		$(SUDO) systemctl disable --now mariadb 2>/dev/null || true; }
	@$(call need,openssl,openssl)

# PL/Python runs Debian's interpreter.
plpython: postgres
	@test -e "$$($(PG_CONFIG) --pkglibdir)/plpython3.so" && /usr/bin/python3 -c 'import numpy' 2>/dev/null || $(call packages,python3-numpy postgresql-plpython3-$$($(PG_CONFIG) --version | sed -E 's/[^0-9]*([0-9]+).*/\1/'))

extension: postgres
	$(MAKE) --no-print-directory -C pg

# The environment. A file .NAME in it records that the packages of tools/requirements/NAME.txt are installed.

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo 'Python 3.11 or newer is needed: make PYTHON=…'; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || $(call packages,python3-venv)
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
$(TOOLS)/.tools: tools/requirements/tools.txt
$(DROP_IN)/.drop-in: tools/requirements/drop-in.txt
$(ENGINES)/.engines: tools/requirements/engines.txt
$(ML)/.ml: tools/requirements/ml.txt
$(DIST)/.dist: tools/requirements/dist.txt
$(PEERS)/.peers $(PANDAS2)/.pandas2 $(DBT)/.dbt $(TOOLS)/.tools $(DROP_IN)/.drop-in $(ENGINES)/.engines $(ML)/.ml $(DIST)/.dist: | $(BIN)/python
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
