"""`make release`: the version in every place, the changelog's date, and the tag, in a copy of the repository."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from datetime import date
from pathlib import Path

import pytest

from tools.release import publish, versions

ROOT = Path(__file__).parents[2]
DAY = date(2026, 11, 25)


def git(root: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=Tester", "-c", "user.email=tester@example.org", *arguments]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of this checkout as they are, committed in a repository of their own."""
    root = tmp_path_factory.mktemp("origin")
    listed = git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    for name in filter(None, listed):
        if (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, root / name)
    # Just after a release, nothing is unreleased.
    changelog = root / "CHANGELOG.md"
    changelog.write_text(changelog.read_text().replace("## Unreleased\n", "## Unreleased\n\n- A change.\n"))
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "feat: a copy")
    return root


@pytest.fixture
def copy(origin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of it, to change."""
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "Tester")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "tester@example.org")
    git(origin, "clone", "--quiet", "--shared", str(origin), str(tmp_path / "copy"))
    return tmp_path / "copy"


def test_the_version_is_in_every_place(copy: Path) -> None:
    old = versions.current(copy)
    publish.prepare(copy, "97.98.99", DAY)
    # Cargo itself reads all manifests, and compares them with the lock file.
    command = ["cargo", "metadata", "--format-version=1", "--locked", "--no-deps"]
    found = json.loads(subprocess.run(command, cwd=copy, check=True, capture_output=True).stdout)
    assert {package["version"] for package in found["packages"]} == {"97.98.99"}
    for lock in ("Cargo.lock", "tests/fuzz/Cargo.lock"):
        packages = tomllib.loads((copy / lock).read_text())["package"]
        own = [package for package in packages if package["name"].startswith("colonnade-") and "source" not in package]
        # The crate of the fuzz targets is not released.
        assert {one["version"] for one in own if one["name"] != "colonnade-fuzz"} == {"97.98.99"}
    assert "default_version = '97.98.99'" in (copy / "pg/colonnade.control").read_text()
    [data] = re.findall(r"(?m)^DATA = (.*)$", (copy / "pg/Makefile").read_text())
    upgrades = [path.name for path in (ROOT / "pg").glob("colonnade--*--*.sql")]
    scripts = {"colonnade--97.98.99.sql", f"colonnade--{old}--97.98.99.sql", *upgrades}
    assert set(data.split()) == scripts
    pgxn = json.loads((copy / "pg/META.json").read_text())
    assert {pgxn["version"], pgxn["provides"]["colonnade"]["version"]} == {"97.98.99"}
    assert (copy / "pg" / pgxn["provides"]["colonnade"]["file"]).is_file()
    assert {path.name for path in (copy / "pg").glob("*.sql")} == scripts
    assert "\n## Unreleased\n\n## 97.98.99 (2026-11-25)\n\n- A change.\n" in (copy / "CHANGELOG.md").read_text()
    assert git(copy, "status", "--porcelain") == ""
    assert git(copy, "log", "-1", "--format=%s").strip() == "chore(release): 97.98.99"


def test_the_tag_is_on_the_tested_commit_and_the_recording_after_it(copy: Path) -> None:
    publish.prepare(copy, "97.98.99", DAY)
    tested = git(copy, "rev-parse", "HEAD")
    with pytest.raises(ValueError, match=r"has no changes\.json: run make record"):
        publish.tag(copy, "97.98.99")
    folder = copy / publish.RECORDINGS / "97.98.99"
    folder.mkdir()
    (folder / publish.RECORDED).write_text("recorded")
    (copy / "other").write_text("not committed")
    with pytest.raises(ValueError, match="what was tested is not this commit"):
        publish.tag(copy, "97.98.99")
    assert git(copy, "tag", "--list", "v97.98.99") == ""
    (copy / "other").unlink()
    publish.tag(copy, "97.98.99")
    assert git(copy, "cat-file", "-t", "v97.98.99").strip() == "tag"
    assert git(copy, "rev-parse", "v97.98.99^{commit}") == tested
    assert git(copy, "log", "-1", "--format=%s%n%P").split("\n")[:2] == [
        "test(compatibility): the conversations of 97.98.99",
        tested.strip(),
    ]
    assert git(copy, "status", "--porcelain") == ""


def test_no_other_place_has_the_version(copy: Path) -> None:
    """After a release, the old version is only where it means the past, or another project's version."""
    old = versions.current(copy)
    publish.prepare(copy, "97.98.99", DAY)
    # The version of an address, such as 192.0.2.1, is none.
    whole = re.compile(rf"(?<![\d.]){re.escape(old)}(?![\d.])")
    names = git(copy, "grep", "--name-only", "--fixed-strings", old).split()
    found = [name for name in names if whole.search((copy / name).read_text(errors="replace"))]
    past = {"CHANGELOG.md", "docs/changelog-0.x.md", "pg/Makefile", "Cargo.lock", "tests/fuzz/Cargo.lock"}
    others = {
        name
        for name in set(found) - past
        if not re.fullmatch(
            r"tools/requirements/.*|pg/colonnade--.*--.*\.sql|tests/compatibility/.*|tests/.*(package-lock\.json|go\.(mod|sum))|bench/.*|docs/study/.*",
            name,
        )
    }
    # A test's example of another server's version, and the version of the format of run configurations.
    assert others <= {
        "serve/protocol/src/connection.rs",
        "serve/colonnade_serve/_udf_tools/editors.py",
        "tests/devudf/test_files.py",
    }


def test_a_dry_run_changes_nothing(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = git(copy, "rev-parse", "HEAD")
    assert publish.main(["prepare", "97.98.99", "--dry-run", "--root", str(copy)]) == 0
    assert '+version = "97.98.99"' in capsys.readouterr().out
    assert (git(copy, "rev-parse", "HEAD"), git(copy, "status", "--porcelain")) == (before, "")


@pytest.mark.parametrize("version", ["0.0.1", "1", "v2.0.0", "2.0.0rc1", "02.0.0", ""])
def test_versions_that_are_refused(copy: Path, version: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert publish.main(["prepare", version, "--root", str(copy)]) == 1
    assert capsys.readouterr().err.startswith(f"release: VERSION={version} is not ")
    assert git(copy, "status", "--porcelain") == ""


def test_what_must_be_done_first(copy: Path) -> None:
    (copy / "README.md").write_text("changed")
    with pytest.raises(ValueError, match="not committed"):
        publish.prepare(copy, "97.98.99", DAY)
    git(copy, "checkout", "--quiet", "README.md")
    with pytest.raises(ValueError, match=r"is version .*, not 97\.98\.99"):
        publish.tag(copy, "97.98.99")
    git(copy, "tag", "v97.98.99")
    with pytest.raises(ValueError, match="there is a tag"):
        publish.prepare(copy, "97.98.99", DAY)


def test_changed_sql_of_the_extension_needs_a_script(copy: Path) -> None:
    old = versions.current(copy)
    git(copy, "tag", f"v{old}")
    with (copy / f"pg/colonnade--{old}.sql").open("a") as sql:
        sql.write("CREATE FUNCTION one_more() RETURNS int LANGUAGE sql AS 'SELECT 1';\n")
    git(copy, "commit", "--quiet", "--all", "--message", "feat(pg): one more")
    with pytest.raises(ValueError, match=f"write pg/colonnade--{old}--97.98.99.sql"):
        publish.prepare(copy, "97.98.99", DAY)
    assert git(copy, "status", "--porcelain") == ""
    script = copy / f"pg/colonnade--{old}--97.98.99.sql"
    script.write_text("CREATE FUNCTION one_more() RETURNS int LANGUAGE sql AS 'SELECT 1';\n")
    git(copy, "add", "--all")
    git(copy, "commit", "--quiet", "--message", "feat(pg): an upgrade")
    publish.prepare(copy, "97.98.99", DAY)
    assert "one_more" in script.read_text()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("# Changelog\n\n## 0.0.9 (2026-01-01)\n\n- x\n", "nothing under"),
        ("# Changelog\n\n## Unreleased\n\n## 0.0.9 (2026-01-01)\n\n- x\n", "nothing under"),
        (
            "# Changelog\n\n## Unreleased\n\n### For contributors\n\n- x\n\n### Reading\n\n- y\n",
            "users' changes come first",
        ),
    ],
)
def test_changelogs_that_are_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        publish.with_date(text, "1.0.0", DAY)


def test_a_changelog_keeps_earlier_releases() -> None:
    text = "# Changelog\n\n## Unreleased\n\n- new\n\n## 0.0.9 (2026-01-01)\n\n- old\n"
    assert publish.with_date(text, "1.2.3", DAY) == (
        "# Changelog\n\n## Unreleased\n\n## 1.2.3 (2026-11-25)\n\n- new\n\n## 0.0.9 (2026-01-01)\n\n- old\n"
    )
