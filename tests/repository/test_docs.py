"""The documentation: its links lead somewhere, and its examples run and print what the pages say."""

from __future__ import annotations

import fnmatch
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path

import duckdb
import pytest

from tests.repository import consoles
from tests.support import programs
from tests.testbed.serving import function_options

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts)
#: All that people read, in whatever folder.
READMES = [ROOT / f"{folder}/README.md" for folder in ("bench", "pg", "tests")]
TEXTS = [*PAGES, *ROOT.glob("*.md"), *ROOT.glob("spec/*.md"), *READMES]
#: Pages whose blocks are run one after the other, in an empty directory, as a reader would.
LESSONS = [ROOT / "README.md", *sorted((DOCS / "tutorial").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Lessons that need a library of machine learning: `make test-ml` runs them.
OF_MACHINE_LEARNING = [DOCS / "tutorial/machine-learning.md"]
#: Languages of programs that read by the ADBC driver from `colonnade serve shop.duckdb`.
FOREIGN = ("go", "r")
#: Blocks that need an engine: tests/engines runs them.
OF_ENGINES = "py"


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


# --- links ------------------------------------------------------------------------------------------------------------


def headings(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and MyST make them. An included file's are the page's own."""
    text = page.read_text()
    for included in re.findall(r"^```\{include\} (\S+)$", text, re.MULTILINE):
        text += (page.parent / included).read_text()
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", TEXTS, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for path, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)", page.read_text()):
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in headings(target)):
            broken.append(f"{path}#{anchor}" if anchor else path)
    assert broken == []


@cache
def source_files() -> list[str]:
    """The repository's source files, each with a `/` in front of its path."""
    folders = [path for path in ROOT.iterdir() if path.is_dir() and path.name[0] != "." and path.name != "target"]
    files = (file for folder in folders for file in folder.rglob("*"))
    return [f"/{name_of(file)}" for file in files if file.suffix in {".rs", ".py", ".c", ".h", ".sql"}]


@pytest.mark.parametrize("page", TEXTS, ids=name_of)
def test_source_files_that_a_page_names_exist(page: Path) -> None:
    """Folders in front may be left out: `core/sql/src/lexer.rs` is also `lexer.rs`; `*` stands for several files."""
    named = re.findall(r"`(?:\.\./)*([\w.*/-]+\.(?:rs|py|c|h|sql))`", page.read_text())
    assert [name for name in named if not fnmatch.filter(source_files(), f"*/{name}")] == []


def test_every_page_is_in_a_table_of_contents() -> None:
    listed = {DOCS / "index.md"}
    for page in PAGES:
        for tree in re.findall(r"^```\{toctree\}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
            listed |= {page.parent / f"{line}.md" for line in tree.splitlines() if line and not line.startswith(":")}
    assert listed == set(PAGES)


# --- examples ---------------------------------------------------------------------------------------------------------


class Lesson:
    """Runs the blocks of a page in a directory of its own, with `colonnade serve` in the background."""

    def __init__(self, directory: Path, ends: ExitStack) -> None:
        self.directory = directory
        self.ends = ends
        self.names: dict[str, object] = {}
        self.port = "5433"
        #: Manifests of ADBC drivers are written here.
        self.environment = os.environ | {"XDG_CONFIG_HOME": str(directory / "config")}

    def python(self, code: str) -> str:
        printed = StringIO()
        with redirect_stdout(printed):
            exec(compile(self.here(code), "example", "exec"), self.names)
        return printed.getvalue()

    def sh(self, code: str) -> str:
        return "".join(map(self.command, self.here(code.replace("\\\n", " ")).splitlines()))

    def command(self, line: str) -> str:
        words = shlex.split(line, comments=True)
        if words[:2] == ["colonnade", "serve"]:
            return self.serve(words[1:])
        if words[0] == "colonnade":
            words[:1] = [sys.executable, "-m", "colonnade"]
        return self.run(words)

    def run(self, words: list[str]) -> str:
        return subprocess.run(
            words,
            check=True,
            cwd=self.directory,
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
            timeout=60,
        ).stdout

    def sql(self, code: str) -> str:
        """Statements that a reader gives to psql."""
        words = [
            "psql",
            "--no-psqlrc",
            "--quiet",
            "--set",
            "ON_ERROR_STOP=1",
            "--host",
            "127.0.0.1",
            "--port",
            self.port,
        ]
        words += ["--username", "ada", "--dbname", "shop", "--command", "SET client_min_messages = warning"]
        parts = [part for part in code.split(";\n") if part.strip()]
        printed = self.run([*words, *(word for part in parts for word in ("--command", part))])
        # psql writes an empty line after each table.
        return printed.rstrip("\n")

    def console(self, code: str) -> str:
        """A command after `$`, and all that it shows on a terminal; what follows a prompt is typed."""
        first, _, rest = code.partition("\n")
        words = shlex.split(self.here(first.removeprefix("$ ")))
        if words[0] == "colonnade":
            words[:1] = [sys.executable, "-m", "colonnade"]
        typed = consoles.typed_at_prompts(rest)
        return f"{first}\n{consoles.shown(words, typed, self.directory, self.environment)}"

    def go(self, code: str) -> str:
        """A program. The module is that of the driver's tests, so that its lock file counts."""
        go, module = programs.go_with_cxx(), self.directory / "go"
        module.mkdir()
        for name in ("go.mod", "go.sum"):
            shutil.copy(ROOT / "tests/adbc/go" / name, module)
        (module / "main.go").write_text(self.here(code))
        programs.run([go, "build", "-o", "program", "."], module)
        return self.run([str(module / "program")])

    def r(self, code: str) -> str:
        return self.run([programs.r_with("adbcdrivermanager"), "-e", self.here(code)])

    def serve(self, words: list[str]) -> str:
        words[words.index("--listen") + 1] = "127.0.0.1:0"
        if "--udf" in words:
            words.remove("--udf")
            words += function_options()
        command = [sys.executable, "-m", "colonnade", *words]
        server = self.ends.enter_context(
            subprocess.Popen(command, cwd=self.directory, stdout=subprocess.PIPE, text=True)
        )
        self.ends.callback(server.terminate)
        assert server.stdout is not None
        self.port = server.stdout.readline().strip().rpartition(":")[2]
        return ""

    def here(self, code: str) -> str:
        """The port is a free one."""
        return re.sub(r"(127\.0\.0\.1:|-p )5433\b", rf"\g<1>{self.port}", code)


@pytest.fixture
def lesson(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lesson]:
    monkeypatch.chdir(tmp_path)
    with ExitStack() as ends:
        yield Lesson(tmp_path, ends)


@pytest.mark.parametrize("page", LESSONS, ids=name_of)
def test_lessons_run_and_print_what_they_say(page: Path, lesson: Lesson) -> None:
    if page in OF_MACHINE_LEARNING and importlib.util.find_spec("sklearn") is None:
        pytest.skip("scikit-learn is not here; make test-ml runs this")
    printed = ""
    for kind, code in BLOCK.findall(page.read_text()):
        if kind == "text":
            assert [line.rstrip() for line in printed.splitlines()] == code.splitlines()
        elif kind == "console":
            assert lesson.console(code) == code
        elif kind not in (*FOREIGN, OF_ENGINES):
            assert kind in ("sh", "sql", "python"), f"no example is known to be {kind}"
            printed = getattr(lesson, kind)(code)


@pytest.mark.parametrize("page", [page for page in PAGES if page not in LESSONS], ids=name_of)
def test_other_pages_run(page: Path, lesson: Lesson) -> None:
    blocks = [code for kind, code in BLOCK.findall(page.read_text()) if kind == "python"]
    if not blocks:
        return
    # What a page takes for granted.
    shop = lesson.directory / "shop.duckdb"
    with duckdb.connect(str(shop)) as connection:
        for table in ("orders", "orders_2024", "orders_2025"):
            connection.execute(f"CREATE TABLE {table} AS SELECT i AS id FROM range(10) t(i)")
    lesson.names["uri"] = f"duckdb:///{shop}"
    for block in blocks:
        lesson.python(block)


@pytest.mark.parametrize("language", FOREIGN)
@pytest.mark.parametrize(
    "page", [page for page in TEXTS if re.search("^```(go|r)$", page.read_text(), re.M)], ids=name_of
)
def test_programs_in_other_languages_run(page: Path, language: str, lesson: Lesson) -> None:
    """They print the number of the orders that they read."""
    [code] = [code for kind, code in BLOCK.findall(page.read_text()) if kind == language]
    run = lesson.go if language == "go" else lesson.r
    lesson.sh("colonnade demo shop.duckdb\ncolonnade serve shop.duckdb --listen 127.0.0.1:5433\ncolonnade adbc install")
    assert sum(map(int, re.findall(r"\d+$", run(code), re.MULTILINE))) == 49_999


# --- what is made from the code ---------------------------------------------------------------------------------------


def test_chart_shows_the_results() -> None:
    command = [
        sys.executable,
        "-c",
        "import readme_chart as c; print(c.chart(c.RESULTS.read_text()), end='')",
    ]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "bench")}
    drawn = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60, env=environment).stdout
    assert (DOCS / "lineitem.svg").read_text() == drawn


def test_mysql_parameters_are_those_of_the_client() -> None:
    source = (ROOT / "client/src/mysql/uri.rs").read_text()
    [listed] = re.findall(r"^const PARAMETERS.*?= \[(.*?)\];", source, re.MULTILINE | re.DOTALL)
    known = {name.replace("_", "-") for name in re.findall(r'"(\w+)"', listed)}
    table = "\n".join(re.findall(r"^\| (`.*?) \|", (DOCS / "reference/mysql.md").read_text(), re.MULTILINE))
    assert known - set(re.findall(r"`([\w-]+)`", table)) == set()
