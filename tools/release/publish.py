"""`make release VERSION=1.2.3`: `prepare` writes the version and the changelog's date and commits them; `tag` marks the
commit, and commits the release's recorded conversations.

Between the two, `make release` builds what is shipped, tests it, and records it. Nothing is uploaded.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path

from . import versions

ROOT = Path(__file__).parents[2]
#: Where the recorded conversations of releases are, and the file of each but the first.
RECORDINGS = "tests/compatibility/releases"
RECORDED = "changes.json"
_UNRELEASED = "## Unreleased\n"
#: The last section of a release. What users notice comes before it.
_LAST = "For contributors"


def main(arguments: list[str] | None = None) -> int:
    """Runs a step. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.release.publish", description=__doc__)
    parser.add_argument("step", choices=["prepare", "tag"])
    parser.add_argument("version", metavar="VERSION")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout (default: this one)")
    parser.add_argument("--dry-run", action="store_true", help="show the changes, and undo them")
    args = parser.parse_args(arguments)
    try:
        if args.step == "prepare":
            prepare(args.root, args.version, datetime.now(UTC).date(), is_dry=args.dry_run)
        else:
            tag(args.root, args.version)
    except (ValueError, OSError) as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"release: {' '.join(map(str, error.cmd))} failed", file=sys.stderr)
        return 1
    return 0


def prepare(root: Path, version: str, day: date, *, is_dry: bool = False) -> None:
    """Writes the version everywhere, dates the changelog, and commits both. A dry run shows the difference instead.

    Raises:
        ValueError: There are changes that are not committed, the version is taken or not newer, or the changelog has
            nothing about it.
    """
    if _git(root, "status", "--porcelain"):
        raise ValueError("there are changes that are not committed: commit them first")
    if _git(root, "tag", "--list", f"v{version}"):
        raise ValueError(f"there is a tag v{version} already")
    changelog = root / "CHANGELOG.md"
    dated = with_date(changelog.read_text(), version, day)
    versions.bump(root, version)
    changelog.write_text(dated)
    _git(root, "add", "--all")
    if is_dry:
        print(_git(root, "diff", "--cached", "--stat", "--patch", "--unified=0"))
        _git(root, "reset", "--quiet", "--hard")
        return
    _git(root, "commit", "--quiet", "--message", f"chore(release): {version}")
    print(f"version {version}, {day.isoformat()}")


def with_date(text: str, version: str, day: date) -> str:
    """The changelog with the version and the date over what was unreleased, and an empty part for what comes next.

    Raises:
        ValueError: Nothing is unreleased, or a section follows that for contributors.
    """
    before, heading, rest = text.partition(_UNRELEASED)
    body = re.split(r"(?m)^## ", rest, maxsplit=1)[0]
    if not heading or not body.strip():
        raise ValueError("CHANGELOG.md has nothing under '## Unreleased'")
    sections = re.findall(r"(?m)^### (.+)$", body)
    if _LAST in sections[:-1]:
        raise ValueError(f"CHANGELOG.md: users' changes come first, so '### {_LAST}' is the last section")
    return f"{before}{_UNRELEASED}\n## {version} ({day.isoformat()})\n{rest}"


def tag(root: Path, version: str) -> None:
    """Marks the commit that was built and tested. The recording that was made of it is committed after it.

    Raises:
        ValueError: The checkout has another version, or changes that are not committed, or there is no recording.
    """
    if versions.current(root) != version:
        raise ValueError(f"this checkout is version {versions.current(root)}, not {version}")
    recording = f"{RECORDINGS}/{version}/"
    changes = _git(root, "status", "--porcelain", "--untracked-files=all").splitlines()
    if not all(change.startswith(f"?? {recording}") for change in changes):
        raise ValueError("there are changes that are not committed, so what was tested is not this commit")
    if not (root / recording / RECORDED).is_file():
        raise ValueError(f"{recording} has no {RECORDED}: run make record")
    _git(root, "tag", "--annotate", f"v{version}", "--message", f"Colonnade {version}")
    if changes:
        _git(root, "add", recording)
        _git(root, "commit", "--quiet", "--message", f"test(compatibility): the conversations of {version}")
    print(f"tagged v{version}; to publish: git push origin HEAD v{version}, and upload the files of dist/")


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
