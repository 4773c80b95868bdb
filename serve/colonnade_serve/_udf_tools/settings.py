"""Where the database and the folder are: options, the environment, `[tool.colonnade]` of pyproject.toml."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

from colonnade._files import write_text

#: The names that `[tool.colonnade]` may have.
NAMES = {"uri", "udf-dir"}


@dataclass(frozen=True)
class Project:
    """A project with functions."""

    #: The directory with pyproject.toml; the present one if there is none.
    root: Path
    #: The folder of the functions.
    folder: Path
    uri: str | None

    @property
    def private(self) -> Path:
        """The folder of inputs and recordings, which no version control has."""
        return self.root / ".colonnade"

    @property
    def outside(self) -> Path:
        """The directory around what files of functions are written in. Below it they are written through no link: a
        repository may contain some."""
        return self.root if self.folder.is_relative_to(self.root) else self.folder

    def database(self) -> str:
        """The database's URI. Raises `ValueError` if there is none."""
        if self.uri is None:
            raise ValueError(
                "no database: pass --uri, set COLONNADE_URI, or write uri under [tool.colonnade] in pyproject.toml"
            )
        return self.uri

    def make_private(self) -> Path:
        """The private folder, which is made, and hidden from git."""
        ignored = self.private / ".gitignore"
        if not ignored.exists():
            write_text(ignored, "*\n", below=self.root)
        return self.private


def project(uri: str | None, folder: Path | None) -> Project:
    """The project of the present directory. Options precede the environment, and that precedes pyproject.toml."""
    here = Path.cwd()
    file = next((path for path in (one / "pyproject.toml" for one in (here, *here.parents)) if path.is_file()), None)
    root, found = (here, {}) if file is None else (file.parent, table(file))
    uri = uri or os.environ.get("COLONNADE_URI") or found.get("uri")
    return Project(root, folder or root / found.get("udf-dir", "udf"), uri)


def table(file: Path) -> dict[str, str]:
    """The table `[tool.colonnade]`."""
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {}).get("colonnade", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{file}: {error}") from None
    for name, value in found.items():
        if name not in NAMES:
            raise ValueError(f"{file}: [tool.colonnade] has no setting {name}; it has {', '.join(sorted(NAMES))}")
        if not isinstance(value, str):
            raise ValueError(f"{file}: {name} under [tool.colonnade] is not a text")
    return found
