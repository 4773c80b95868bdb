"""The command where nothing but the package itself is installed: every extra is optional."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import colonnade
import pytest

#: Runs the command. The folder of the package is the first argument.
COMMAND = "import sys; sys.path.append(sys.argv.pop(1)); from colonnade._cli.main import main; sys.exit(main())"


def alone(*arguments: str, cwd: Path, names: str = "colonnade*") -> subprocess.CompletedProcess[str]:
    """Run the command in an interpreter that finds the standard library and the packages of these names, but no other
    one: by default both packages of this project."""
    packages = cwd / "packages"
    packages.mkdir(exist_ok=True)
    # And its metadata.
    for found in Path(colonnade.__file__).parents[1].glob(names):
        (packages / found.name).symlink_to(found)
    command = [sys.executable, "-I", "-S", "-c", COMMAND, str(packages), *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("command", ["read", "write", "serve", "doctor", "user", "udf", "ml", "adbc", "demo"])
def test_every_command_has_help(command: str, tmp_path: Path) -> None:
    done = alone(command, "--help", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: colonnade {command}")


def test_the_doctor_says_what_is_missing(tmp_path: Path) -> None:
    state = json.loads(alone("doctor", "--json", cwd=tmp_path).stdout)
    packages = state["installation"]["packages"]
    assert packages.pop("colonnade-serve") == colonnade.__version__
    assert set(packages.values()) == {None}
    assert {extra["state"] for extra in state["installation"]["extras"]} == {"not installed"}


def test_an_action_that_needs_an_extra_names_it(tmp_path: Path) -> None:
    done = alone("udf", "run", "f", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == "colonnade: numpy is missing: pip install 'colonnade[udf]'\n"


def test_a_server_names_its_extra(tmp_path: Path) -> None:
    done = alone("serve", ":memory:", cwd=tmp_path)
    assert done.returncode == 1
    assert "pip install 'colonnade[serve]'" in done.stderr


# --- without the part that serves -------------------------------------------------------------------------------------

#: The package that reads and writes.
CLIENT = "colonnade"


@pytest.mark.parametrize("command", ["serve", "user", "udf", "ml"])
@pytest.mark.parametrize("arguments", [(), ("--help",), ("--listen", "127.0.0.1:0", "shop.duckdb")])
def test_a_command_of_the_server_says_what_to_install(command: str, arguments: tuple[str, ...], tmp_path: Path) -> None:
    done = alone(command, *arguments, cwd=tmp_path, names=CLIENT)
    said = f"colonnade: colonnade {command} needs colonnade_serve: pip install 'colonnade[serve]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)


@pytest.mark.parametrize("command", ["read", "serve", "ml"])
def test_a_server_of_another_version_is_not_used(command: str, tmp_path: Path) -> None:
    packages, installed = tmp_path / "packages", Path(colonnade.__file__).parents[1]
    (packages / "colonnade_serve").mkdir(parents=True)
    for found in (installed / "colonnade_serve").iterdir():
        if found.name.partition(".")[0] != "_core":
            (packages / "colonnade_serve" / found.name).symlink_to(found)
    (packages / "colonnade_serve/_core.py").write_text('__version__ = "0.0.1"\n')
    done = alone(command, "--help", cwd=tmp_path, names=CLIENT)
    needed = f"colonnade_serve {colonnade.__version__}, and 0.0.1 is installed: pip install -U 'colonnade[serve]'"
    said = "" if command == "read" else f"colonnade: colonnade {command} needs {needed}\n"
    assert (done.returncode, done.stderr) == (int(command != "read"), said)


def test_the_client_does_without(tmp_path: Path) -> None:
    done = alone("--help", cwd=tmp_path, names=CLIENT)
    assert done.returncode == 0
    assert "pip install 'colonnade[serve]'" in done.stdout
