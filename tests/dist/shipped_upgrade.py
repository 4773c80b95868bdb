"""From one wheel to two: `pip install -U` over a release whose package had the server too."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from tests.dist.shipped import PACKAGE, ROOT, Environment, orders, with_extra
from tests.dist.uses import serve_orders, use

#: What the release before had in the package of the client.
MOVED = ("_duckdb", "_devudf", "_serve", "_udf")

served = pytest.fixture(serve_orders, scope="module")


def git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True).stdout


@pytest.fixture(scope="module")
def one_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the last commit in which the server was in the package, built in the profile of tests."""
    first = git("log", "--diff-filter=A", "--format=%H", "--", "serve/pyproject.toml").decode().split()
    if not first:
        pytest.skip("this clone has no history")
    folder = tmp_path_factory.mktemp("before")
    with tarfile.open(fileobj=BytesIO(git("archive", "--format=tar", f"{first[-1]}~1"))) as packed:
        packed.extractall(folder / "source", filter="data")
    environment = os.environ | {
        # Cargo takes artifacts of this tree for those of an older one: it compares dates and paths within a workspace.
        "CARGO_TARGET_DIR": str(ROOT / "target/one_wheel"),
        "MATURIN_PEP517_ARGS": "--profile dev --locked",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    command = [sys.executable, "-m", "pip", "wheel", "--disable-pip-version-check", "--no-build-isolation", "--no-deps"]
    subprocess.run([*command, "--wheel-dir", folder, folder / "source"], check=True, timeout=3000, env=environment)
    [wheel] = folder.glob("colonnade-*.whl")
    return wheel


@pytest.mark.parametrize("extra", [None, "serve"])
def test_an_upgrade(extra: str | None, one_wheel: Path, tmp_path: Path, served: str) -> None:
    environment = Environment.make(tmp_path / "venv")
    environment.install(f"{one_wheel}[serve]")
    [package] = environment.folder.glob("lib/python*/site-packages/colonnade")
    assert all((package / name).exists() for name in MOVED)
    # Before a release, both have the same version.
    is_same = one_wheel.name.split("-")[1] == PACKAGE.name.split("-")[1]
    environment.install("--upgrade", *(["--force-reinstall"] if is_same else []), with_extra(extra))
    assert not [name for name in MOVED if (package / name).exists()]
    if extra is not None:
        use(environment, extra, orders(tmp_path / "a.db"), served)
    # What the extra had brought before stays; it is the server that is gone.
    done = environment.tried("colonnade", "serve", "--help")
    assert (done.returncode == 0) == (extra is not None)
    assert ("colonnade serve needs colonnade_serve: pip install 'colonnade[serve]'" in done.stderr) == (extra is None)
