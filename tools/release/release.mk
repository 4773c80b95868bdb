# What is shipped: wheels, Debian packages, the extension for VS Code, and the steps of a release.

VERSION ?=
DRY_RUN ?=

# Installs Rust's standard library for targets that lack it.
targets = @for target in $(1); do test -d "$$(rustc --print sysroot)/lib/rustlib/$$target/lib" || rustup target add $$target || exit 1; done

.PHONY: vscode dist dist-aarch64 dist-musl dist-windows dist-macos test-dist test-dist-aarch64 test-dist-musl test-dist-windows
.PHONY: deb test-deb release release-prepare release-tag record test-release

vscode: tools/vscode/out/.built | $(BIN)/python ## Build the extension for VS Code into dist/, a file that editors install
	$(BIN)/python -m tools.release.vsix

tools/vscode/out/.built: tools/vscode/package-lock.json tools/vscode/tsconfig.json $(wildcard tools/vscode/src/*.ts tools/vscode/test/*.ts)
	@$(call need,npm,nodejs npm)
	cd tools/vscode && npm ci --no-audit --no-fund --ignore-scripts --loglevel=error && rm -rf out && node_modules/.bin/tsc -p .
	@touch $@

dist: dist/SHA256SUMS ## Build what is shipped into dist/: wheels for manylinux2014, source distribution, the extension for VS Code, debug information, components, checksums

dist/SHA256SUMS: $(SOURCES) $(RUST) $(ADBC_PACKAGE) $(wildcard tools/release/*.py) README.md tools/vscode/out/.built | $(DIST)/.dist
	@$(call need,objcopy,binutils)
	$(DIST)/bin/python -m tools.release.dist

dist-aarch64: | $(DIST)/.dist ## Build the wheels for Linux on ARM into dist/aarch64/, compiled here by zig
	@$(call need,aarch64-linux-gnu-objcopy,binutils-aarch64-linux-gnu)
	$(call targets,aarch64-unknown-linux-gnu)
	$(DIST)/bin/python -m tools.release.dist --platform aarch64

dist-musl: | $(DIST)/.dist ## Build the wheels for Linux with musl into dist/musl-x86_64/ and dist/musl-aarch64/
	@$(call need,objcopy,binutils)
	@$(call need,aarch64-linux-gnu-objcopy,binutils-aarch64-linux-gnu)
	$(call targets,x86_64-unknown-linux-musl aarch64-unknown-linux-musl)
	$(DIST)/bin/python -m tools.release.dist --platform musl-x86_64
	$(DIST)/bin/python -m tools.release.dist --platform musl-aarch64

dist-macos: | $(DIST)/.dist ## Build the wheels for macOS into dist/macos-x86_64/ and dist/macos-aarch64/, and inspect them
	$(call targets,x86_64-apple-darwin aarch64-apple-darwin)
	$(DIST)/bin/python -m tools.release.dist --platform macos-x86_64
	$(DIST)/bin/python -m tools.release.dist --platform macos-aarch64

dist-windows: | $(DIST)/.dist ## Build the wheels for Windows on x86-64 into dist/windows/, linked here by mingw
	@$(call need,x86_64-w64-mingw32-gcc,gcc-mingw-w64-x86-64-posix)
	$(call targets,x86_64-pc-windows-gnu)
	$(DIST)/bin/python -m tools.release.dist --platform windows

test-dist: dist/SHA256SUMS $(BIN)/.wheel $(BIN)/.test $(BIN)/.build postgres mariadb java ## Install what is shipped into environments without compilers, and use it there
	@$(call need,patchelf,patchelf)
	$(BIN)/python -m pytest --timeout=3600 -rA tests/dist/shipped_files.py tests/dist/shipped_package.py tests/dist/shipped_versions.py tests/dist/shipped_upgrade.py

test-dist-aarch64: $(BIN)/.wheel $(BIN)/.test ## Use the wheels for Linux on ARM in a Python that qemu runs
	@$(call need,qemu-aarch64,qemu-user)
	$(BIN)/python -m pytest --timeout=3600 -rA tests/dist/shipped_files.py tests/dist/shipped_aarch64.py

test-dist-musl: $(BIN)/.wheel $(BIN)/.test ## Use the wheels for musl in a Python that is built with it
	@$(call need,musl-gcc,musl musl-dev musl-tools)
	$(BIN)/python -m pytest --timeout=3600 -rA tests/dist/shipped_files.py tests/dist/shipped_musl.py

test-dist-windows: $(BIN)/.wheel $(BIN)/.test postgres mariadb ## Use the wheels for Windows in a Python for Windows that wine runs
	@$(call need,wine,wine wine64)
	@$(call need,mvn,maven)
	@$(call need,x86_64-w64-mingw32-gcc,gcc-mingw-w64-x86-64-posix)
	$(call targets,x86_64-pc-windows-gnu)
	$(BIN)/python -m pytest --timeout=3600 -rA tests/dist/shipped_windows_crates.py tests/dist/shipped_windows.py tests/dist/shipped_windows_suites.py

# The extension for the versions of PostgreSQL of which this Debian has headers.
deb: $(BIN)/python ## Build the extension's Debian packages into target/debian/
	@dpkg-query -W debhelper lintian postgresql-server-dev-all >/dev/null 2>&1 || $(call packages,debhelper lintian dpkg-dev postgresql-server-dev-all)
	$(BIN)/python -m tools.release.debian

test-deb: $(BIN)/.wheel $(BIN)/.test ## Install, upgrade, test and remove the extension's Debian package in a Debian of its own (root)
	@dpkg-query -W debhelper lintian postgresql-server-dev-all mmdebstrap autopkgtest >/dev/null 2>&1 || $(call packages,debhelper lintian dpkg-dev postgresql-server-dev-all mmdebstrap autopkgtest)
	$(SUDO) env PATH="$$PATH" CARGO_HOME="$${CARGO_HOME:-$$HOME/.cargo}" $(abspath $(BIN)/python) -m pytest --timeout=3600 -rA tests/dist/debian_package.py

# Its steps are targets as well, so that a release can be continued where it has stopped.
release: release-prepare ## Make a release: VERSION=1.2.3 into every place, build, test and record what is shipped, tag (DRY_RUN=1 shows the changes)
ifeq ($(DRY_RUN),)
	$(MAKE) --no-print-directory dist dist-aarch64 dist-musl dist-windows dist-macos test-dist test-dist-aarch64 test-dist-musl test-dist-windows record
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

test-release: test lint deny dist dist-aarch64 dist-musl dist-windows dist-macos test-dist test-dist-aarch64 test-dist-musl test-dist-windows deb test-deb test-postgres-versions test-mysql-versions ## Run all checks of a release, for example of a tag that is checked out (root, hours)
