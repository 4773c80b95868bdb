"""`make deb`: the extension as Debian packages `postgresql-N-colonnade`, in `target/debian/`.

They are for the versions of PostgreSQL of which this Debian has `postgresql-server-dev-N`. The source package has the
crates of the workspace and `pg/`; `pg/debian/` becomes its folder `debian/`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tomllib
from email.utils import formatdate
from pathlib import Path

from . import versions

ROOT = Path(__file__).parents[2]
OUT = ROOT / "target/debian"
#: Builds take place in one folder, because cargo compiles everything again for other paths.
WORK = ROOT / "target/debian-build"
NAME = "postgresql-colonnade"
#: What a build needs in addition to the workspace's crates.
FILES = ("Cargo.toml", "Cargo.lock", "CHANGELOG.md", "LICENSE", "pg")
#: Debian's cargo may be older than the one that the build needs and finds.
PROFILE = "pkg.postgresql-colonnade.rustup"

_CHANGELOG = """\
{name} ({version}) unstable; urgency=medium

  * Version {version}. CHANGELOG.md has the changes.

 -- {maintainer}  {date}
"""


def main() -> int:
    """Builds the packages of a checkout. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.release.debian", description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout (default: this one)")
    parser.add_argument("--out", type=Path, default=OUT, help="where the packages are put")
    arguments = parser.parse_args()
    for package in build(arguments.root, arguments.out):
        print(package)
    return 0


def build(root: Path, out: Path) -> list[Path]:
    """Builds the packages of the checkout at `root`, checks them with lintian, and returns their files in `out`, which
    has nothing else afterwards.

    Raises:
        subprocess.CalledProcessError: A step failed, or lintian has found an error or given a warning.
    """
    source = WORK / NAME
    tree(root, source)
    cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    environment = os.environ | {
        "CARGO_HOME": str(cargo),
        "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(cargo.with_name(".rustup"))),
        "CARGO_TARGET_DIR": str(ROOT / "target/debian-crates"),
    }
    build_package = ["dpkg-buildpackage", "--unsigned-source", "--unsigned-changes", f"--build-profiles={PROFILE}"]
    subprocess.run(build_package, cwd=source, env=environment, check=True)
    shutil.rmtree(source)
    [changes] = WORK.glob("*.changes")
    lintian = ["lintian", "--fail-on", "error,warning", "--allow-root", "--tag-display-limit", "0", changes]
    subprocess.run(lintian, check=True)
    shutil.rmtree(out, ignore_errors=True)
    shutil.move(WORK, out)
    return sorted(path for path in out.glob("*.deb") if "-dbgsym_" not in path.name)


def tree(root: Path, source: Path) -> None:
    """Writes the source of the packages into a new folder."""
    shutil.rmtree(source.parent, ignore_errors=True)
    version = versions.current(root)
    members = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["members"]
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *FILES, *members]
    listed = subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE, text=True).stdout
    for name in sorted(set(filter(None, listed.split("\0")))):
        if not (root / name).is_file():
            continue  # renamed since the last commit, as by a change of the version
        inside = name.removeprefix("pg/") if name.startswith("pg/debian/") else name
        (source / inside).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, source / inside, follow_symlinks=False)
    (source / "debian/changelog").write_text(changelog(root, source, version))
    subprocess.run(["pg_buildext", "updatecontrol"], cwd=source, check=True)


def changelog(root: Path, source: Path, version: str) -> str:
    """Debian's changelog, with the time of the last commit."""
    lines = (source / "debian/control.in").read_text().splitlines()
    maintainer = next(line.partition(": ")[2] for line in lines if line.startswith("Maintainer: "))
    moment = int(subprocess.check_output(["git", "log", "-1", "--format=%ct"], cwd=root))
    return _CHANGELOG.format(name=NAME, version=version, maintainer=maintainer, date=formatdate(moment))


if __name__ == "__main__":
    sys.exit(main())
