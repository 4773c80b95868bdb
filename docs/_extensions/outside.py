"""Links from a page to files of the repository that are not pages of the site.

Links are written as paths, so that they also work where the Markdown is read as it is. Files that the site includes
have a page; all others are shown by the repository's site.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from sphinx.application import Sphinx

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
REPOSITORY = "https://github.com/colonnade-db/colonnade"
#: Pages that consist of a file outside of `docs/`.
PAGES = {
    "spec/TYPES.md": "reference/types.md",
    "spec/PROTOCOL.md": "reference/protocol.md",
    "spec/FORMAT.md": "reference/format.md",
    "pg/README.md": "reference/extension.md",
    "SECURITY.md": "explanation/security.md",
    "ARCHITECTURE.md": "contributing/architecture.md",
    "CONTRIBUTING.md": "contributing/rules.md",
}
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")


def rewritten(text: str, place: Path, page: Path) -> str:
    """The Markdown of a file in the directory `place`, with links that are valid on a page in the directory `page`."""

    def target(found: re.Match[str]) -> str:
        path = (place / found[1]).resolve()
        anchor = found[2] or ""
        name = path.relative_to(ROOT).as_posix()
        if name in PAGES:
            path = DOCS / PAGES[name]
        elif DOCS not in path.parents:
            if not path.exists():
                raise FileNotFoundError(f"{place}: a link leads to {name}, which does not exist")
            return f"]({REPOSITORY}/{'tree' if path.is_dir() else 'blob'}/main/{name}{anchor})"
        return f"]({os.path.relpath(path, page)}{anchor})"

    return LINK.sub(target, text)


def read(app: Sphinx, name: str, source: list[str]) -> None:
    place = (DOCS / name).parent
    source[0] = rewritten(source[0], place, place)


def include(app: Sphinx, path: Path, _: str, content: list[str]) -> None:
    # MyST gives the page's name without its folder.
    content[0] = rewritten(content[0], (DOCS / path).resolve().parent, (DOCS / app.env.docname).parent)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", read)
    app.connect("include-read", include)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
