"""The tutorial's walk through the editor, in a real one: `make test-vscode`.

The extension's file is installed into code-server, and a browser does what the tutorial says. COLONNADE_PICTURES is a
folder for the pictures of docs/tutorial/.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.editor import installed
from tests.testbed.serving import Server, function_options, serve
from tools.release import vsix

ROOT = Path(__file__).parents[2]
LESSON = ROOT / "docs/tutorial/debugging-functions.md"
#: Of the editor's start, and of all that is done in it.
START, STEPS = 60, 300


@pytest.fixture(scope="module")
def editor() -> installed.Editor:
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        pytest.skip("the editor's Node is for Linux on x86-64")
    return installed.editor()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The folder that the editor opens. Pictures show its last part."""
    project = tmp_path / "shop"
    project.mkdir()
    return project


@pytest.fixture
def server(project: Path) -> Iterator[Server]:
    """The tutorial's server."""
    database = project.parent / "shop.duckdb"
    subprocess.run([sys.executable, "-m", "colonnade", "demo", str(database)], check=True, stdout=subprocess.DEVNULL)
    with serve(database, *function_options()) as server:
        yield server


def of_lesson() -> tuple[str, str]:
    """The CREATE statement and the query of the tutorial."""
    text = LESSON.read_text()
    create = re.search(r'"""\s*(CREATE FUNCTION train_rnforest.*?\$\$)"""', text, re.DOTALL)
    query = re.search(r'^query = """(.*?)"""', text, re.DOTALL | re.MULTILINE)
    assert create is not None and query is not None
    return create[1], query[1]


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextmanager
def running(editor: installed.Editor, project: Path, folder: Path) -> Iterator[str]:
    """The editor with the extension, on the project. Gives its address."""
    profile, extensions, port = folder / "profile", folder / "extensions", free_port()
    settings = {
        "colonnade.query": "@query.sql",
        "editor.fontSize": 13,
        "editor.minimap.enabled": False,
        "extensions.ignoreRecommendations": True,
        "files.autoSave": "off",
        "security.workspace.trust.enabled": False,
        "telemetry.telemetryLevel": "off",
        "update.mode": "none",
        "window.restoreWindows": "none",
        "workbench.colorTheme": "Default Light Modern",
        "workbench.startupEditor": "none",
        "workbench.tips.enabled": False,
        "chat.commandCenter.enabled": False,
    }
    (profile / "User").mkdir(parents=True)
    (profile / "User/settings.json").write_text(json.dumps(settings))
    # Where programs are is a setting of the machine, not of the user.
    (profile / "Machine").mkdir()
    (profile / "Machine/settings.json").write_text(json.dumps({"colonnade.python": sys.executable}))
    (folder / "config.yaml").write_text("auth: none\n")
    # The editor's own files and settings of the user are not touched.
    environment = editor.environment | {"HOME": str(folder / "home"), "XDG_DATA_HOME": str(folder / "data")}
    (folder / "home").mkdir()
    command = [editor.node, editor.server, "--config", folder / "config.yaml", "--user-data-dir", profile]
    command += ["--extensions-dir", extensions, "--disable-telemetry", "--disable-update-check"]
    packed = folder / vsix.name()
    vsix.pack(packed, 0x5E000000)
    subprocess.run([*command, "--install-extension", packed], env=environment, check=True, stdout=subprocess.DEVNULL)
    log = folder / "editor.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [*command, "--bind-addr", f"127.0.0.1:{port}", "--disable-workspace-trust", project],
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        end = time.monotonic() + START
        while "HTTP server listening" not in log.read_text():
            assert process.poll() is None and time.monotonic() < end, log.read_text()
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/?folder={project}"
    finally:
        process.terminate()
        process.wait(START)


def test_the_editor_does_what_the_tutorial_says(
    editor: installed.Editor, project: Path, server: Server, tmp_path: Path
) -> None:
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("chromium is not installed")
    create, query = of_lesson()
    (project / "query.sql").write_text(query)
    (project / "pyproject.toml").write_text(
        f'[tool.colonnade]\nuri = "postgresql://ada@{server.host}:{server.port}/shop"\n'
    )
    pictures = Path(os.environ.get("COLONNADE_PICTURES", tmp_path / "pictures"))
    pictures.mkdir(exist_ok=True)
    with psycopg.connect(server.dsn, autocommit=True) as session:
        session.execute(create.encode())
        with pytest.raises(psycopg.Error, match="IndexError"):
            session.execute(query.encode())
        with running(editor, project, tmp_path) as url:
            lines = ["def train_rnforest(", *create.partition("$$\n")[2].splitlines()]
            # The file has two lines of comments and an import before the `def`.
            wrong = next(number for number, line in enumerate(lines, 4) if "len(data) + 1" in line)
            fixed = {"line": wrong, "text": lines[wrong - 4].strip().replace("len(data) + 1", "len(data)")}
            given = {"url": url, "browser": browser, "pictures": str(pictures), "line": wrong + 1, "fixed": fixed}
            command = [editor.node, Path(__file__).with_name("drive.mjs"), json.dumps(given)]
            done = subprocess.run(
                command, env=editor.environment, capture_output=True, text=True, timeout=STEPS, check=False
            )
            assert done.returncode == 0, f"{done.stdout}{done.stderr}\nthe screen is in {pictures}"
        # What was pushed is what the editor had, and the query works.
        file = project / "udf/public/train_rnforest.py"
        assert "len(data) + 1" not in file.read_text()
        rows = session.execute(query.encode()).fetchall()
        assert len(rows) == 3
